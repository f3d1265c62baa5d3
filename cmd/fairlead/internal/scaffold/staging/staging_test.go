package staging

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// staged returns a stage with the files of newer, for a target folder with the files of there.
func staged(t *testing.T, there, newer map[string]string) *Stage {
	t.Helper()
	target := t.TempDir()
	for name, text := range there {
		place := filepath.Join(target, name)
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(place, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := New(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Discard)
	for name, text := range newer {
		if err := s.Put(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// expect checks the content of a file in the target. An empty text means that the file must not exist.
func (s *Stage) expect(t *testing.T, name, want string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.target, name))
	if string(text) != want || want != "" && err != nil {
		t.Errorf("the file %s has the content %q, with the error %v; want %q", name, text, err, want)
	}
}

func TestAStageMovesFilesToTheirPlacesAndKeepsTheirModes(t *testing.T) {
	s := staged(t, map[string]string{"a": "old", "removed": "old"}, map[string]string{"a": "new", "sub/b": "new"})
	if err := os.Chmod(filepath.Join(s.target, "a"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := s.Move([]string{"a", "sub/b"}, []string{"removed", "never-there"}); err != nil {
		t.Fatal(err)
	}
	s.expect(t, "a", "new")
	s.expect(t, "sub/b", "new")
	s.expect(t, "removed", "")
	info, err := os.Stat(filepath.Join(s.target, "a"))
	if err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("the file has the mode %v, with the error %v; want 0750", info.Mode(), err)
	}
}

func TestAFileStaysInItsPlaceUntilItsSuccessorMovesThereAlsoWhereThereAreNoLinks(t *testing.T) {
	s := staged(t, map[string]string{"a": "old"}, map[string]string{"a": "new"})
	from, to, previous := s.places("a")
	// An existing file at the path of the link has the same effect as a file system without links.
	if err := errors.Join(os.Chmod(to, 0o750), os.MkdirAll(filepath.Dir(previous), 0o755),
		os.WriteFile(previous, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if existed, err := keep(to, previous, from); err != nil || !existed {
		t.Fatalf("keep returned %t and the error %v, want true", existed, err)
	}
	for place, want := range map[string]string{to: "old", previous: "old", from: "new"} {
		text, err := os.ReadFile(place)
		if err != nil || string(text) != want {
			t.Errorf("the file %s has the content %q, with the error %v; want %q", place, text, err, want)
			continue
		}
		info, err := os.Stat(place)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o750 {
			t.Errorf("the file %s has the mode %v, want 0750", place, info.Mode())
		}
	}
}

func TestAStageUndoesWhatItDidWhereAFileCannotBeMoved(t *testing.T) {
	// The target has a folder at the path of a file. The stage must not remove the folder.
	s := staged(t, map[string]string{"a": "old", "c/mine": "old", "removed": "old"},
		map[string]string{"a": "new", "b": "new", "c": "new"})
	err := s.Move([]string{"a", "b", "c"}, []string{"removed"})
	if err == nil || !strings.Contains(err.Error(), "nothing was written") ||
		!strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("Move must fail because the target is not a regular file, got %v", err)
	}
	s.expect(t, "a", "old")
	s.expect(t, "b", "")
	s.expect(t, "c/mine", "old")
	s.expect(t, "removed", "old")
}

func TestAStageLeavesNoFolderThatItMade(t *testing.T) {
	parent := t.TempDir()
	s, err := New(filepath.Join(parent, "new", "project"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put("a", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Move([]string{"a", "missing"}, nil); err == nil {
		t.Error("Move moved a file that is not in the staging folder")
	}
	s.Discard()
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("staging folders remain: %v, %v", left, err)
	}
}
