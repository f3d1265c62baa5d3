package render

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/fairlead-io/fairlead/pkg/source"
)

// Open reads a source from a local folder or .tgz archive.
func Open(name string) (fs.FS, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%q does not exist; name a folder or a .tgz archive", name)
	case err != nil:
		return nil, fmt.Errorf("%q: %w", name, err)
	case info.IsDir():
		return openFolder(name)
	}
	return openArchive(name, info)
}

// openFolder reads a folder. Like Helm, it follows symbolic links that lead out of the folder, because the folder
// belongs to the person who renders it.
func openFolder(name string) (fs.FS, error) {
	tree, err := source.Read(os.DirFS(name), source.Limits{})
	if err != nil {
		return nil, fmt.Errorf("folder %q: %w", name, err)
	}
	return tree, nil
}

func openArchive(name string, info fs.FileInfo) (fs.FS, error) {
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is neither a folder nor a file; name a folder or a .tgz archive", name)
	}
	if info.Size() > source.DefaultMaxTotalBytes {
		return nil, fmt.Errorf("archive %q has %d bytes, more than the limit of %d", name, info.Size(),
			source.DefaultMaxTotalBytes)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("archive %q: %w", name, err)
	}
	tree, err := source.Unpack(content, source.Limits{})
	if err != nil {
		return nil, fmt.Errorf("archive %q: %w", name, err)
	}
	return tree, nil
}
