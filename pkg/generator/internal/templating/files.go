package templating

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// Files are the files of a source that templates can read, with their original content. The zero value contains no
// files.
type Files struct {
	contents map[string][]byte
	// folder is the base of relative paths.
	folder string
}

// NewFiles returns the files of a source. Relative paths refer to the root of the source.
func NewFiles(files []rendering.File) Files {
	contents := make(map[string][]byte, len(files))
	for _, file := range files {
		contents[file.Name] = file.Data
	}
	return Files{contents: contents, folder: "."}
}

// In returns the same files, but relative paths refer to folder.
func (f Files) In(folder string) Files {
	f.folder = folder
	return f
}

// resolve converts a path in a template to a path from the root of the source.
func (f Files) resolve(name string) (string, error) {
	target := path.Join(f.folder, name)
	switch {
	case path.IsAbs(name):
		return "", fmt.Errorf("%q is absolute: write a relative path", name)
	case target == ".." || strings.HasPrefix(target, "../"):
		return "", fmt.Errorf("%q leaves the source", name)
	}
	return target, nil
}

func (f Files) read(name string) (string, error) {
	target, err := f.resolve(name)
	if err != nil {
		return "", err
	}
	content, found := f.contents[target]
	if !found {
		return "", fmt.Errorf("the source has no file %q", name)
	}
	return string(content), nil
}

func (f Files) exists(name string) (bool, error) {
	target, err := f.resolve(name)
	if err != nil {
		return false, err
	}
	_, found := f.contents[target]
	return found, nil
}

// list returns the sorted paths of all files that match a pattern. * and ? match characters in one part of the path; **
// matches any number of folders.
func (f Files) list(pattern string) ([]string, error) {
	target, err := f.resolve(pattern)
	if err != nil {
		return nil, err
	}
	matches, err := Glob(target)
	if err != nil {
		return nil, fmt.Errorf("%q is not a valid pattern: %w", pattern, err)
	}
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(f.contents)) {
		if !matches(name) {
			continue
		}
		relative, err := filepath.Rel(f.folder, name)
		if err != nil {
			return nil, err
		}
		names = append(names, filepath.ToSlash(relative))
	}
	return names, nil
}
