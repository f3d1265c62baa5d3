package rendering

import (
	"fmt"
	"io"
	"io/fs"
)

// Limits of a source. They are the limits of Helm for a chart.
const (
	MaxFileSize   = 5 << 20
	MaxSourceSize = 100 << 20
	MaxFiles      = 20_000
)

// File is a file of a source.
type File struct {
	// Name is the path in the source, with slashes.
	Name string
	Data []byte
}

// ReadFiles reads the files of a source in the order of their paths. skip, which may be nil, reports whether a file or
// folder is omitted.
//
// Symbolic links to files are followed if the source allows it. Other special files, and a source that exceeds the
// limits, are errors.
func ReadFiles(source fs.FS, skip func(name string, info fs.FileInfo) bool) ([]File, error) {
	var files []File
	remaining := int64(MaxSourceSize)
	err := fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := fs.Stat(source, name)
		if err != nil {
			return err
		}
		switch {
		case skip != nil && skip(name, info) && entry.IsDir():
			return fs.SkipDir
		case skip != nil && skip(name, info), entry.IsDir():
			return nil
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is not a regular file: replace it with a regular file", name)
		case len(files) == MaxFiles:
			return fmt.Errorf("the source has more than %d files", MaxFiles)
		}
		data, err := readFile(source, name, min(remaining, MaxFileSize))
		remaining -= int64(len(data))
		files = append(files, File{Name: name, Data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	return files, nil
}

// readFile reads a file of at most limit bytes. It counts the bytes that it reads, because the size in the file's
// metadata may be wrong.
func readFile(source fs.FS, name string, limit int64) ([]byte, error) {
	file, err := source.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf(
			"%s is too large: the limit is %d MiB for a file, and %d MiB for a source",
			name,
			MaxFileSize>>20,
			MaxSourceSize>>20,
		)
	}
	return data, nil
}
