// Package plain has tests that fail in several ways. The folder in FAIRLEAD_TEST_ATTEMPTS counts how often a test ran.
package plain

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/test/repeat"
)

// attempt counts the runs of a test.
func attempt(t *testing.T) int {
	folder := filepath.Join(os.Getenv("FAIRLEAD_TEST_ATTEMPTS"), t.Name())
	_ = os.MkdirAll(folder, 0o700)
	before, _ := os.ReadDir(folder)
	n := len(before) + 1
	_ = os.Mkdir(filepath.Join(folder, fmt.Sprint(n)), 0o700)
	return n
}

func TestFlaky(t *testing.T) {
	if attempt(t) == 1 {
		t.Error("the first output")
	}
}

func TestSubtests(t *testing.T) {
	for _, name := range []string{"docs/a.md", "docs/a.mdx"} {
		t.Run(name, func(t *testing.T) {
			if n := attempt(t); name == "docs/a.md" && n == 1 {
				t.Error("the first output")
			}
		})
	}
}

func TestTwice(t *testing.T) {
	t.Errorf("output %d", attempt(t))
}

func TestSkippedLater(t *testing.T) {
	if attempt(t) > 1 {
		t.Skip()
	}
	t.Error("the first output")
}

func TestSubtestMissingLater(t *testing.T) {
	if attempt(t) == 1 {
		t.Run("missing", func(t *testing.T) { t.Error("the first output") })
	}
}

func TestPanic(t *testing.T) {
	t.Run("fails", func(t *testing.T) { t.Error("the first output") })
	if attempt(t) == 1 {
		panic("a panic")
	}
}

func TestExit(t *testing.T) {
	t.Run("fails", func(t *testing.T) { t.Error("the first output") })
	if attempt(t) == 1 {
		fmt.Println("--- FAIL: TestExit (0.00s)")
		os.Exit(1)
	}
}

func TestOtherProcess(t *testing.T) {
	if attempt(t) == 1 {
		t.Errorf("%s%s: the other process failed", repeat.NotRepeated, t.Name())
	}
}

func TestTimeout(t *testing.T) {
	if attempt(t) == 1 {
		select {}
	}
}
