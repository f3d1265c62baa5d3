package staging

import (
	"os"
	"path/filepath"
	"strings"
)

// stagePrefix is the prefix of the folders of stages.
const stagePrefix = ".fairlead-scaffold-"

// Other entries of a stage: lockFile is locked by its process, and formerFolder keeps replaced files.
const (
	lockFile     = ".lock"
	formerFolder = ".former"
)

// claim locks a new stage before others can see its lock file. The lock ends with the process.
func claim(dir string) (*os.File, error) {
	fresh := filepath.Join(dir, lockFile+".new")
	file, err := os.OpenFile(fresh, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if !tryLock(file) {
		// Some file systems have no locks. Such a stage stays if its process is killed.
		return file, os.Remove(fresh)
	}
	return file, os.Rename(fresh, filepath.Join(dir, lockFile))
}

// removeAbandoned removes the stages in a folder whose processes were killed, except for those with replaced files,
// which may be the only copies. Errors are ignored: an abandoned stage does no harm.
func removeAbandoned(parent string) {
	// A folder that cannot be listed has no stages.
	entries, _ := os.ReadDir(parent)
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), stagePrefix) {
			continue
		}
		dir := filepath.Join(parent, entry.Name())
		if _, err := os.Lstat(filepath.Join(dir, formerFolder)); err == nil {
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
