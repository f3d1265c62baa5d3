package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// stage is a folder in which files are complete before they are moved to where they belong.
type stage struct {
	dir, target string
	// made is the first folder above the target that did not exist.
	made string
}

// newStage makes a stage on the file system of the target, so that moving is renaming.
func newStage(target string) (*stage, error) {
	target, err := filepath.Abs(target)
	if err != nil {
		return nil, err
	}
	parent, made := target, ""
	for {
		info, err := os.Stat(parent)
		switch {
		case err == nil && !info.IsDir():
			return nil, fmt.Errorf("%s is no folder", parent)
		case err == nil:
			dir, err := os.MkdirTemp(parent, ".fairlead-scaffold-")
			return &stage{dir: dir, target: target, made: made}, err
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		parent, made = filepath.Dir(parent), parent
	}
}

func (s *stage) discard() { _ = os.RemoveAll(s.dir) }

func (s *stage) put(file File) error {
	place := filepath.Join(s.dir, filepath.FromSlash(file.Path))
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		return err
	}
	return os.WriteFile(place, file.Content, 0o644)
}

// move puts files in their places. Where one cannot be moved, those before it are taken back.
func (s *stage) move(files []string) error {
	var undo []func() error
	for _, file := range files {
		back, err := s.moveOne(filepath.FromSlash(file))
		if err != nil {
			for _, restore := range slices.Backward(undo) {
				err = errors.Join(err, restore())
			}
			return fmt.Errorf("nothing was written: %w", err)
		}
		undo = append(undo, back)
	}
	return nil
}

// moveOne returns what takes it back: what was there before is kept in the stage until that is discarded.
func (s *stage) moveOne(file string) (back func() error, err error) {
	from, to, former := filepath.Join(s.dir, file), filepath.Join(s.target, file), filepath.Join(s.dir, ".former", file)
	for _, place := range []string{to, former} {
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			return nil, err
		}
	}
	err = os.Rename(to, former)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	existed := err == nil
	restore := func() error {
		if existed {
			return os.Rename(former, to)
		}
		return os.Remove(to)
	}
	if err := os.Rename(from, to); err != nil {
		if existed {
			err = errors.Join(err, os.Rename(former, to))
		}
		return nil, err
	}
	return restore, nil
}
