//go:build (unix && !aix && !solaris) || illumos

package staging

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestAStageIsRemovedByTheNextOneWhereItsProcessWasKilled(t *testing.T) {
	target := t.TempDir()
	open := func() *Stage {
		t.Helper()
		s, err := New(target)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	atWork, killed, replacing := open(), open(), open()
	t.Cleanup(atWork.Discard)
	if err := errors.Join(os.Mkdir(filepath.Join(replacing.dir, previousFolder), 0o700),
		os.Mkdir(filepath.Join(target, stagePrefix+"mine"), 0o700)); err != nil {
		t.Fatal(err)
	}
	// The locks are closed, because the end of a process would release them.
	if err := errors.Join(killed.lock.Close(), replacing.lock.Close()); err != nil {
		t.Fatal(err)
	}
	last := open()
	last.Discard()
	for dir, stays := range map[string]bool{
		atWork.dir: true, killed.dir: false, last.dir: false,
		// A stage with replaced files may have the only copies, and the process of a stage without a lock is unknown.
		replacing.dir: true, filepath.Join(target, stagePrefix+"mine"): true,
	} {
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("the staging folder %s was kept or removed wrongly: %v", dir, err)
		}
	}
}
