package source

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// maxListed is the maximum number of entries of a folder that an error names.
const maxListed = 10

// Sub returns the folder dir of a source; "" and "." mean the source itself. If the folder does not exist, the error
// lists the existing entries.
func Sub(fsys fs.FS, dir string) (fs.FS, error) {
	if path.IsAbs(dir) || hasParent(dir) {
		return nil, fmt.Errorf("folder %q: want a relative path inside the source, without %q", dir, "..")
	}
	dir = path.Clean(dir)
	if dir == "." {
		return fsys, nil
	}
	if !fs.ValidPath(dir) {
		return nil, fmt.Errorf("folder %q: not a valid path", dir)
	}
	info, err := fs.Stat(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing(fsys, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("folder %q: %w", dir, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("folder %q: it is a file in the source; want a folder", dir)
	}
	return fs.Sub(fsys, dir)
}

// missing returns an error that lists the entries of the nearest existing folder.
func missing(fsys fs.FS, dir string) error {
	for parent := path.Dir(dir); ; parent = path.Dir(parent) {
		entries, err := fs.ReadDir(fsys, parent)
		if err != nil && parent != "." {
			continue
		}
		where := "the source"
		if parent != "." {
			where = fmt.Sprintf("folder %q", parent)
		}
		return fmt.Errorf("folder %q: not found in the source; %s holds %s", dir, where, listing(entries))
	}
}

func listing(entries []fs.DirEntry) string {
	if len(entries) == 0 {
		return "nothing"
	}
	var names []string
	for _, entry := range entries[:min(len(entries), maxListed)] {
		name := entry.Name()
		if entry.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	text := strings.Join(names, ", ")
	if more := len(entries) - maxListed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
