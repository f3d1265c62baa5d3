package testcluster

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// staleAge is the minimum age of stale folders. A younger folder may belong to a cluster that has not locked it yet.
const staleAge = 10 * time.Minute

// dropStaleData removes the data of clusters whose tests were killed, which is over 100 MB each. It keeps their logs.
// Data that cannot be removed now is removed at a later start.
func dropStaleData() {
	folders, err := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
	if err != nil {
		return // The pattern is constant.
	}
	for _, folder := range folders {
		data := filepath.Join(folder, "etcd")
		if info, err := os.Stat(data); err == nil && time.Since(info.ModTime()) > staleAge && !inUse(folder) {
			_ = os.RemoveAll(data)
		}
	}
}

// inUse reports whether a running dev cluster holds the folder's lock. A folder without a readable lock counts as in
// use.
func inUse(folder string) bool {
	lock, err := os.Open(filepath.Join(folder, "lock"))
	if err != nil {
		return true
	}
	defer func() { _ = lock.Close() }() // Closing unlocks.
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}
