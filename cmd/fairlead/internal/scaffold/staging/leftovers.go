package staging

import (
	"os"
	"path/filepath"
	"strings"
)

// stagePrefix is the prefix of the folders of stages.
const stagePrefix = ".fairlead-scaffold-"

// Entries of a stage besides new files. The process of the stage locks lockFile. previousFolder has the replaced files.
const (
	lockFile       = ".lock"
	previousFolder = ".former"
)

// claim creates and locks the lock file of a new stage. It locks the file before it gives it its final name, so that no
// other process can lock the file first. The lock ends with the process.
func claim(dir string) (*os.File, error) {
	fresh := filepath.Join(dir, lockFile+".new")
	file, err := os.OpenFile(fresh, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if !tryLock(file) {
		// The file system has no locks. Without a lock file, the stage is never removed after its process was killed.
		return file, os.Remove(fresh)
	}
	return file, os.Rename(fresh, filepath.Join(dir, lockFile))
}

// removeAbandoned removes the stages in a folder whose processes were killed. It keeps stages with replaced files,
// which may be the only copies. It ignores errors, because an abandoned stage does no harm.
func removeAbandoned(parent string) {
	// A folder that cannot be listed is treated as a folder without stages.
	entries, _ := os.ReadDir(parent)
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), stagePrefix) {
			continue
		}
		dir := filepath.Join(parent, entry.Name())
		if _, err := os.Lstat(filepath.Join(dir, previousFolder)); err == nil {
			continue
		}
		lock, err := os.Open(filepath.Join(dir, lockFile))
		if err != nil {
			continue
		}
		if tryLock(lock) {
			_ = os.RemoveAll(dir)
		}
		_ = lock.Close()
	}
}
