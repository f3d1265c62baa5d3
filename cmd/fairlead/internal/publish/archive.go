// Package publish writes a local folder and values into a cluster as a component (fairlead apply).
//
// The package stores the folder in an immutable ConfigMap, whose name depends on the folder's content. One write of the
// component switches source and values together. Afterwards, old ConfigMaps are deleted, except for the previous one
// and the one of the last revision that was Ready.
package publish

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// Archive is a packed folder.
type Archive struct {
	Data []byte
	// Digest identifies the files. It does not depend on their order or compression in Data.
	Digest string
}

// Pack packs a local folder. It returns an error with the exit code of bad input if the folder cannot be read or does
// not fit into a ConfigMap.
func Pack(dir string) (Archive, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Archive{}, exit.BadInput("folder %q does not exist", dir)
	case err != nil:
		return Archive{}, exit.BadInput("folder %q: %w", dir, err)
	case !info.IsDir():
		return Archive{}, exit.BadInput("%q is a file; want a folder with a chart, a kustomization or templates", dir)
	}
	return pack(dir, os.DirFS(dir))
}

func pack(dir string, folder fs.FS) (Archive, error) {
	data, err := source.Pack(folder)
	if err != nil {
		return Archive{}, exit.BadInput("folder %q: %w", dir, err)
	}
	// Digest and limits are computed from the packed files, because the operator renders only these.
	packed, err := source.Unpack(data, source.Limits{})
	if err != nil {
		return Archive{}, exit.BadInput("folder %q: %w", dir, err)
	}
	files, err := filesOf(packed)
	if err != nil {
		return Archive{}, err
	}
	if len(files) == 0 {
		return Archive{}, exit.BadInput("folder %q is empty; want a chart, a kustomization or templates", dir)
	}
	if len(data) > source.MaxConfigMapArchive {
		return Archive{}, tooLarge(dir, len(data), files)
	}
	digest, err := source.Digest(packed)
	return Archive{Data: data, Digest: digest}, err
}

// file is a file with its size before compression.
type file struct {
	path string
	size int64
}

func filesOf(folder fs.FS) ([]file, error) {
	var files []file
	err := fs.WalkDir(folder, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files = append(files, file{path, info.Size()})
		return nil
	})
	return files, err
}

// tooLarge returns an error that names the largest files, which a person may remove.
func tooLarge(dir string, size int, files []file) error {
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(cmp.Compare(b.size, a.size),
			strings.Compare(a.path, b.path))
	})
	var largest []string
	for _, f := range files[:min(3, len(files))] {
		largest = append(largest, fmt.Sprintf("%s (%d bytes)", f.path, f.size))
	}
	return exit.BadInput("folder %q has %d bytes when it is packed; the limit of a ConfigMap is %d bytes; "+
		"remove files that are not rendered, such as tests, documentation and unused sub-charts, or apply a subfolder; "+
		"the largest files are %s",
		dir, size, source.MaxConfigMapArchive, strings.Join(largest, ", "))
}
