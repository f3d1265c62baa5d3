package staging

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Stage is a temporary folder with files that are moved to a target together.
type Stage struct {
	dir, target string
	// made is the topmost folder of the target's path that did not exist before. It is empty if the target existed.
	made string
	// lock is the locked file that protects the stage from removal as long as the process runs.
	lock *os.File
}

// New creates a stage on the file system of the target, so that files can be renamed to their paths in the target.
func New(target string) (*Stage, error) {
	target, err := filepath.Abs(target)
	if err != nil {
		return nil, err
	}
	parent, made := target, ""
	for {
		info, err := os.Stat(parent)
		switch {
		case err == nil && !info.IsDir():
			return nil, fmt.Errorf("%s is not a folder", parent)
		case err == nil:
			removeAbandoned(parent)
			return openStage(parent, target, made)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		parent, made = filepath.Dir(parent), parent
	}
}

func openStage(parent, target, made string) (*Stage, error) {
	dir, err := os.MkdirTemp(parent, stagePrefix)
	if err != nil {
		return nil, err
	}
	s := &Stage{dir: dir, target: target, made: made}
	if s.lock, err = claim(dir); err != nil {
		s.Discard()
		return nil, err
	}
	return s, nil
}

// Dir returns the folder of the stage.
func (s *Stage) Dir() string { return s.dir }

// Discard removes the stage and unlocks it.
func (s *Stage) Discard() {
	_ = os.RemoveAll(s.dir)
	_ = s.lock.Close()
}

// Put writes a file into the stage. The path is relative to the target, with slashes.
func (s *Stage) Put(path string, content []byte) error {
	place := filepath.Join(s.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		return err
	}
	return os.WriteFile(place, content, 0o644)
}

// Move moves files from the stage to the target, and removes the files in removed from the target. After an error, it
// undoes all changes.
func (s *Stage) Move(files, removed []string) error {
	var undo []func() error
	attempt := func(file string, step func(string) (back func() error, err error)) error {
		back, err := step(filepath.FromSlash(file))
		if err == nil {
			undo = append(undo, back)
		}
		return err
	}
	var err error
	for i := 0; err == nil && i < len(files); i++ {
		err = attempt(files[i], s.moveOne)
	}
	for i := 0; err == nil && i < len(removed); i++ {
		err = attempt(removed[i], s.takeAway)
	}
	if err == nil {
		return nil
	}
	for _, back := range slices.Backward(undo) {
		err = errors.Join(err, back())
	}
	if s.made != "" {
		err = errors.Join(err, os.RemoveAll(s.made))
	}
	return fmt.Errorf("nothing was written: %w", err)
}

// moveOne moves a file to the target, and returns a function that undoes the move. It keeps a copy of a replaced file
// in the stage. If the process is killed at any time, the target has either the old or the new file.
func (s *Stage) moveOne(file string) (back func() error, err error) {
	from, to, previous := s.places(file)
	existed, err := keep(to, previous, from)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return nil, err
	}
	back = func() error { return os.Remove(to) }
	if existed {
		back = func() error { return os.Rename(previous, to) }
	}
	if err := os.Rename(from, to); err != nil {
		if existed {
			err = errors.Join(err, back())
		}
		return nil, err
	}
	return back, nil
}

// takeAway removes a file of the target if it exists. It keeps the file in the stage, and returns a function that
// restores it.
func (s *Stage) takeAway(file string) (back func() error, err error) {
	_, to, previous := s.places(file)
	if err := os.MkdirAll(filepath.Dir(previous), 0o755); err != nil {
		return nil, err
	}
	err = os.Rename(to, previous)
	if errors.Is(err, fs.ErrNotExist) {
		return func() error { return nil }, nil
	}
	return func() error { return os.Rename(previous, to) }, err
}

// places returns the path of a file in the stage, its path in the target, and the path for a copy of the replaced file.
func (s *Stage) places(file string) (from, to, previous string) {
	return filepath.Join(s.dir, file), filepath.Join(s.target, file), filepath.Join(s.dir, previousFolder, file)
}

// keep links or copies a file that will be replaced to the path previous, and sets the file's mode on its successor.
func keep(file, previous, successor string) (existed bool, err error) {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is not a regular file: move it away", file)
	}
	if err := os.MkdirAll(filepath.Dir(previous), 0o755); err != nil {
		return false, err
	}
	if err := os.Link(file, previous); err != nil {
		// Some file systems have no hard links, so the file is copied.
		if err := duplicate(file, previous, info.Mode().Perm()); err != nil {
			return false, err
		}
	}
	return true, os.Chmod(successor, info.Mode().Perm())
}

// duplicate copies a file with its mode.
func duplicate(file, to string, mode fs.FileMode) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, content, 0o600); err != nil {
		return err
	}
	return os.Chmod(to, mode)
}
