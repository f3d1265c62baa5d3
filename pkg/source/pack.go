package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
)

// Pack returns a .tgz archive of a folder. Equal content gives equal bytes: times, owners and modes are left out, and
// folders named .git are omitted. Pack returns an error that names the path for symbolic links, devices and other
// special files, and for any entry that Unpack refuses under the default limits.
func Pack(fsys fs.FS) ([]byte, error) {
	var out bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(zipped)
	if err := packEntries(fsys, archive); err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := zipped.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func packEntries(fsys fs.FS, archive *tar.Writer) error {
	budget := &budget{limits: Limits{}.withDefaults()}
	return fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case entry.Name() == ".git" && entry.IsDir():
			return fs.SkipDir
		case entry.Name() == ".git": // a work tree, or a submodule
			return nil
		}
		if err := checkName(name); err != nil {
			return err
		}
		if entry.IsDir() {
			return packFolder(name, archive, budget)
		}
		return packFile(fsys, entry, name, archive, budget)
	})
}

func packFolder(name string, archive *tar.Writer, budget *budget) error {
	if err := budget.takeEntry(name); err != nil {
		return err
	}
	return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: int64(folderMode)})
}

func packFile(fsys fs.FS, entry fs.DirEntry, name string, archive *tar.Writer, budget *budget) error {
	switch {
	case entry.Type()&fs.ModeSymlink != 0:
		return fmt.Errorf("entry %s: it is a symbolic link; replace it by the file or folder that it points to", quoted(name))
	case !entry.Type().IsRegular():
		return fmt.Errorf("entry %s: it is neither a file nor a folder (%s)", quoted(name), entry.Type())
	}
	info, err := entry.Info()
	if err != nil {
		return fmt.Errorf("entry %s: %w", quoted(name), err)
	}
	if err := budget.takeFile(name, info.Size()); err != nil {
		return err
	}
	content, err := fs.ReadFile(fsys, name)
	if err != nil {
		return fmt.Errorf("entry %s: %w", quoted(name), err)
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(fileMode), Size: int64(len(content))}
	if err := archive.WriteHeader(header); err != nil {
		return fmt.Errorf("entry %s: %w", quoted(name), err)
	}
	_, err = archive.Write(content)
	return err
}
