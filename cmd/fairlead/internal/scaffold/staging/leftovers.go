package staging

import (
	"os"
	"path/filepath"
	"strings"
)

// stagePrefix is how the names of stages begin.
const stagePrefix = ".fairlead-scaffold-"

// What is in a stage besides the files of the project: whoever works on it locks lockFile, and what is replaced is kept in formerFolder.
const (
	lockFile     = ".lock"
	formerFolder = ".former"
)

// claim locks a stage that nobody else sees yet. The lock ends with the process, however that ends.
func claim(dir string) (*os.File, error) {
	fresh := filepath.Join(dir, lockFile+".new")
	file, err := os.OpenFile(fresh, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if !tryLock(file) {
		// Not all file systems have locks. Such a stage stays, if its process is killed.
		return file, os.Remove(fresh)
	}
	return file, os.Rename(fresh, filepath.Join(dir, lockFile))
}

// removeAbandoned removes the stages in a folder whose processes were killed. One that has begun to replace files stays: it may hold the only copy of
// something. What cannot be removed is in nobody's way.
func removeAbandoned(parent string) {
	// What cannot be listed has no stages.
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
