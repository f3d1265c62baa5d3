package testcluster

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestOnlyDataThatNobodyUsesIsDropped(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	old := time.Now().Add(-2 * staleAge)
	for name, test := range map[string]struct {
		folder  string
		age     time.Time
		locked  bool
		dropped bool
	}{
		"a cluster of a killed test":      {folder: "testcluster-killed", age: old, dropped: true},
		"a running cluster":               {folder: "testcluster-running", age: old, locked: true},
		"a cluster that is just starting": {folder: "testcluster-starting", age: time.Now()},
		"something else":                  {folder: "else", age: old},
	} {
		t.Run(name, func(t *testing.T) {
			data := filepath.Join(temporary, test.folder, "etcd")
			if err := os.MkdirAll(data, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(data, test.age, test.age); err != nil {
				t.Fatal(err)
			}
			lock, err := os.Create(filepath.Join(temporary, test.folder, "lock"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = lock.Close() }()
			if test.locked {
				if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
					t.Fatal(err)
				}
			}
			dropStaleData()
			if _, err := os.Stat(data); os.IsNotExist(err) != test.dropped {
				t.Errorf("the data of the cluster must be removed: %t; the file system returned %v", test.dropped, err)
			}
			if _, err := os.Stat(lock.Name()); err != nil {
				t.Errorf("other files than the data were removed: %v", err)
			}
		})
	}
}
