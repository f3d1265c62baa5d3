package kustomize

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// sourceFiles is a read-only file system for builds. kyaml's own in-memory one refuses names that are common in public kustomizations, such as
// high-availability-1.21+. What a build does not need is left to an empty file system.
type sourceFiles struct {
	filesys.FileSystem
	contents map[string][]byte
	folders  map[string]bool
}

func newFiles(list []rendering.File) sourceFiles {
	f := sourceFiles{FileSystem: filesys.MakeFsInMemory(), contents: map[string][]byte{}, folders: map[string]bool{".": true}}
	for _, file := range list {
		f.contents[file.Name] = file.Data
		for folder := path.Dir(file.Name); !f.folders[folder]; folder = path.Dir(folder) {
			f.folders[folder] = true
		}
	}
	return f
}

// clean turns a path, absolute or not, into one relative to the root of the source.
func clean(name string) string {
	relative := strings.TrimPrefix(path.Clean("/"+name), "/")
	if relative == "" {
		return "."
	}
	return relative
}

// CleanedAbs splits a path into its folder and its file; the file is empty where the path is a folder.
func (f sourceFiles) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	relative := clean(name)
	if f.folders[relative] {
		return filesys.ConfirmedDir(path.Join("/", relative)), "", nil
	}
	if _, ok := f.contents[relative]; ok {
		return filesys.ConfirmedDir(path.Dir("/" + relative)), path.Base(relative), nil
	}
	return "", "", missing(relative)
}

// IsDir says whether a folder exists.
func (f sourceFiles) IsDir(name string) bool { return f.folders[clean(name)] }

// Exists says whether a file or folder exists.
func (f sourceFiles) Exists(name string) bool {
	_, ok := f.contents[clean(name)]
	return ok || f.IsDir(name)
}

// ReadFile returns a copy of the content of a file.
func (f sourceFiles) ReadFile(name string) ([]byte, error) {
	content, ok := f.contents[clean(name)]
	if !ok {
		return nil, missing(clean(name))
	}
	return append([]byte(nil), content...), nil
}

func missing(name string) error { return fmt.Errorf("%s: %w", name, fs.ErrNotExist) }
