package source

import (
	"fmt"
	"io"
	"io/fs"
	"path"
)

// Read copies a folder into memory. Folders named .git are omitted. A symbolic link is replaced by its target if fsys
// follows it; the fs.FS of an os.Root does so inside the folder. Read returns an error that names the path for other
// special files, and if a limit is exceeded.
func Read(fsys fs.FS, limits Limits) (fs.FS, error) {
	r := reader{source: fsys, tree: newTree(limits)}
	if err := r.folder("."); err != nil {
		return nil, err
	}
	return r.tree.fs(), nil
}

type reader struct {
	source fs.FS
	tree   *tree
}

// folder reads the entries of a folder. A cyclic link ends with an error at the maximum path length.
func (r reader) folder(dir string) error {
	entries, err := fs.ReadDir(r.source, dir)
	if err != nil {
		return fmt.Errorf("entry %s: %w", quoted(dir), err)
	}
	for _, entry := range entries {
		if entry.Name() == ".git" {
			continue
		}
		if err := r.entry(path.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (r reader) entry(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	info, err := fs.Stat(r.source, name)
	switch {
	case err != nil && isLink(r.source, name):
		return fmt.Errorf("entry %s: it is a symbolic link that cannot be followed: %w; "+
			"replace it by the file or folder that it points to", quoted(name), err)
	case err != nil:
		return fmt.Errorf("entry %s: %w", quoted(name), err)
	case info.IsDir():
		if err := r.tree.addFolder(name); err != nil {
			return err
		}
		return r.folder(name)
	case !info.Mode().IsRegular():
		return fmt.Errorf("entry %s: it is neither a file nor a folder (%s)", quoted(name), info.Mode().Type())
	}
	return r.file(name, info.Size())
}

func isLink(fsys fs.FS, name string) bool {
	info, err := fs.Lstat(fsys, name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// file reads at most the reserved number of bytes, because the file may grow meanwhile.
func (r reader) file(name string, size int64) error {
	if err := r.tree.reserve(name, size); err != nil {
		return err
	}
	file, err := r.source.Open(name)
	if err != nil {
		return fmt.Errorf("entry %s: %w", quoted(name), err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, size))
	if err != nil {
		return fmt.Errorf("entry %s: %w", quoted(name), err)
	}
	r.tree.put(name, content)
	return nil
}
