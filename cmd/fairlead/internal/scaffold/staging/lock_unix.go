//go:build (unix && !aix && !solaris) || illumos

package staging

import (
	"os"
	"syscall"
)

// tryLock locks a file, and reports whether it could.
func tryLock(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
