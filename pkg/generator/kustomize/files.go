package kustomize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/fairlead-io/fairlead/internal/yamltext"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// buildFiles is the read-only file system of one build. The in-memory file system of kyaml is not used, because it
// rejects names that are common in public kustomizations, such as high-availability-1.21+. Methods that a build does
// not need behave as in an empty file system.
//
// The library cannot be interrupted, so limits and the end of the context are checked whenever a build reads a file.
type buildFiles struct {
	filesys.FileSystem
	ctx  context.Context
	tree *tree
	// bytes and nodes are the numbers of bytes and of nodes read so far.
	bytes, nodes int
	// copies and objects are upper bounds of the operations copy, and of the objects, read so far.
	copies, objects int
	// warn receives the keys that occur twice in a map; see single. It is nil in the first attempt of a build.
	warn func(*manifests.FileError)
	// found is set if a file contains such a key.
	found bool
	// traced is the folder whose kustomization adds the origin to each object; empty if origins are not requested.
	traced string
	// addsOrigins is set if the origins were added to a kustomization that does not ask for them.
	addsOrigins bool
	// err is the error that ended the build. It is kept here because kustomize mixes it with other errors.
	err error
}

func newBuildFiles(ctx context.Context, tree *tree) *buildFiles {
	return &buildFiles{FileSystem: filesys.MakeFsInMemory(), ctx: ctx, tree: tree}
}

// clean converts an absolute or relative path to a path relative to the root of the source.
func clean(name string) string {
	relative := strings.TrimPrefix(path.Clean("/"+name), "/")
	if relative == "" {
		return "."
	}
	return relative
}

// CleanedAbs splits a path into folder and file. If the path is a folder, the file is empty.
func (f *buildFiles) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	relative := clean(name)
	if f.tree.folders[relative] {
		return filesys.ConfirmedDir(path.Join("/", relative)), "", nil
	}
	if f.tree.isFile(relative) {
		return filesys.ConfirmedDir(path.Dir("/" + relative)), path.Base(relative), nil
	}
	return "", "", fmt.Errorf("%s: %w", relative, fs.ErrNotExist)
}

// IsDir reports whether a folder exists.
func (f *buildFiles) IsDir(name string) bool { return f.tree.folders[clean(name)] }

// Exists reports whether a file or folder exists.
func (f *buildFiles) Exists(name string) bool {
	return f.tree.isFile(clean(name)) || f.IsDir(name)
}

// ReadFile returns a copy of the content of a file, or an error if the build exceeds its limits.
func (f *buildFiles) ReadFile(name string) ([]byte, error) {
	if f.err != nil {
		return nil, f.err
	}
	relative := clean(name)
	if !f.tree.isFile(relative) {
		return nil, fmt.Errorf("%s: %w", relative, fs.ErrNotExist)
	}
	content, err := f.tree.read(relative)
	if err == nil {
		err = f.spend(relative, len(content))
	}
	if err != nil {
		f.err = err
		return nil, err
	}
	f.copies += f.tree.copies[relative]
	f.objects += f.tree.objectsIn(relative, content)
	limitCopies(f.copies, f.objects)
	return f.tracing(relative, append([]byte(nil), f.single(relative, content)...)), nil
}

// single returns a file of manifests with the last value of each key that occurs twice in a map, which kustomize would
// refuse.
func (f *buildFiles) single(name string, content []byte) []byte {
	if f.warn == nil || !isYAML(name) {
		return content
	}
	single, duplicates := yamltext.Single(content)
	for _, found := range duplicates {
		f.found = true
		f.warn(&manifests.FileError{File: name, Line: found.Line, Err: errors.New(found.String())})
	}
	return single
}

func (f *buildFiles) spend(name string, bytes int) error {
	if err := f.ctx.Err(); err != nil {
		return err
	}
	if f.bytes += bytes; f.bytes > f.tree.limits.OutputBytes {
		return fmt.Errorf(
			"%s: the kustomization reads more than %d bytes, files counted each time: bases that are used by several others "+
				"multiply",
			name,
			f.tree.limits.OutputBytes,
		)
	}
	if f.nodes += f.tree.nodes[name]; f.nodes > f.tree.maxNodes() {
		return fmt.Errorf(
			"%s: the kustomization reads more than %d maps, lists, values and keys, files counted each time: bases that are "+
				"used by several others multiply",
			name,
			f.tree.maxNodes(),
		)
	}
	return nil
}
