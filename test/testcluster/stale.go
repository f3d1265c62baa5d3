package testcluster

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// staleAge keeps dropStaleData away from clusters that are about to lock their folder.
const staleAge = 10 * time.Minute

// dropStaleData removes the data, over 100 MB each, of clusters whose tests were killed. Their logs stay. What cannot
// be removed now, a later start removes.
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

// inUse tells whether a running dev cluster holds the folder's lock. Without a readable lock it is not ours to judge.
func inUse(folder string) bool {
	lock, err := os.Open(filepath.Join(folder, "lock"))
	if err != nil {
		return true
	}
	defer func() { _ = lock.Close() }() // Closing unlocks.
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}
