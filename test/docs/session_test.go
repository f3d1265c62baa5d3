package docs_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/test/docs"
)

func newSession(t *testing.T) *docs.Session {
	t.Helper()
	project := t.TempDir()
	if err := os.WriteFile(filepath.Join(project, "there.txt"), []byte("of the project"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := docs.NewSession(project, t.TempDir(), filepath.Join(t.TempDir(), "state"), os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t *testing.T, s *docs.Session, script string) string {
	t.Helper()
	out, err := s.Run(t.Context(), script)
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return out
}

func TestFolderAndVariablesLastFromBlockToBlock(t *testing.T) {
	s := newSession(t)
	run(t, s, "mkdir 'a folder'; cd 'a folder'; export NAME='it is'; local=lost")
	if got := run(t, s, `echo "$NAME $(basename "$PWD") $local"`); got != "it is a folder \n" {
		t.Error(got)
	}
}

func TestTheFirstCommandThatFailsEndsABlock(t *testing.T) {
	s := newSession(t)
	for _, script := range []string{
		"false; echo after", "false | true; echo after",
		"export NAME=kept; exit 3; echo after",
	} {
		if out, err := s.Run(t.Context(), script); err == nil || strings.Contains(out, "after") {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
	if got := run(t, s, "echo $NAME"); got != "kept\n" {
		t.Error(got)
	}
}

func TestABlockEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := newSession(t).Run(ctx, "tail -f /dev/null"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestWhatABlockStartedEndsWithIt(t *testing.T) {
	s := newSession(t)
	process := strings.TrimSpace(run(t, s, "tail -f /dev/null > log 2>&1 &\necho $!"))
	gomega.NewWithT(t).Eventually(func() bool {
		state, err := os.ReadFile(filepath.Join("/proc", process, "stat"))
		return err != nil || strings.Contains(string(state), ") Z ") // The process does not exist, or is a zombie.
	}).Should(gomega.BeTrue())
}

func TestWhatAPageWritesIsItsOwn(t *testing.T) {
	s := newSession(t)
	if got := run(t, s, "cat there.txt"); got != "of the project" {
		t.Error(got)
	}
	if err := s.Write("a/b.txt", "text"); err != nil {
		t.Fatal(err)
	}
	if got := run(t, s, "cat a/b.txt"); got != "text" {
		t.Error(got)
	}
	if err := s.Write("../b.txt", "text"); err == nil {
		t.Error("a file outside of the folder was written")
	}
}

func TestCheckReadsWithoutRunning(t *testing.T) {
	s := newSession(t)
	if err := s.Check(t.Context(), "false"); err != nil {
		t.Error(err)
	}
	if err := s.Check(t.Context(), "if then"); err == nil {
		t.Error("Check accepted a script with a syntax error")
	}
}
