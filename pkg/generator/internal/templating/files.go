package templating

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gobwas/glob"

	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// Files are the files that templates can read: the files of a source before templates are rendered. The zero value is
// empty.
type Files struct {
	contents map[string][]byte
	// folder is the base of relative paths.
	folder string
}

// NewFiles returns the files of a source; paths count from its top.
func NewFiles(files []rendering.File) Files {
	contents := make(map[string][]byte, len(files))
	for _, file := range files {
		contents[file.Name] = file.Data
	}
	return Files{contents: contents, folder: "."}
}

// In returns the same files; paths count from folder.
func (f Files) In(folder string) Files {
	f.folder = folder
	return f
}

// resolve returns the path in the source that a path in a template means.
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
		return "", fmt.Errorf("%q is no file of the source", name)
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

// list returns the paths that match a pattern, in order: * and ? match within a folder's name or a file's, ** across
// folders.
func (f Files) list(pattern string) ([]string, error) {
	target, err := f.resolve(pattern)
	if err != nil {
		return nil, err
	}
	matcher, err := glob.Compile(target, '/')
	if err != nil {
		return nil, fmt.Errorf("%q is no pattern: %w", pattern, err)
	}
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(f.contents)) {
		if !matcher.Match(name) {
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
