//go:build (unix && !aix && !solaris) || illumos

package staging

import (
	"os"
	"syscall"
)

// tryLock tries to lock a file, and reports whether it succeeded.
func tryLock(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
