package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// errTooLong is returned for an archive whose uncompressed size exceeds the limits.
var errTooLong = errors.New("the uncompressed archive is larger than the limits allow")

// Unpack reads a .tgz archive into memory. The archive is not trusted. Unpack returns an error that names the entry for
// links, devices, absolute paths, paths with "..", duplicate names, and if a limit is exceeded. If all entries are in a
// single top-level folder, that folder is kept in the paths.
func Unpack(archive []byte, limits Limits) (fs.FS, error) {
	t := newTree(limits)
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("not a .tgz archive: %w", err)
	}
	stream := &bounded{reader: zipped, left: streamBytes(t.budget.limits)}
	entries := tar.NewReader(stream)
	last := ""
	for {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, brokenAfter(last, err)
		}
		last = header.Name
		if err := t.addEntry(header, entries); err != nil {
			return nil, err
		}
	}
	// The rest of the archive is read too, because the checksum follows the last entry. Without it, damage would not be
	// detected.
	if _, err := io.Copy(io.Discard, stream); err != nil {
		return nil, brokenAfter(last, err)
	}
	return t.fs(), nil
}

// streamBytes returns the maximum size of the uncompressed archive: the content of all files, and a padded header for
// each entry.
func streamBytes(l Limits) int64 {
	const perEntry, trailer = 4 << 10, 1 << 20
	return l.TotalBytes + int64(l.Entries)*perEntry + trailer
}

func (t *tree) addEntry(header *tar.Header, content io.Reader) error {
	name := strings.TrimPrefix(header.Name, "./")
	switch header.Typeflag {
	case tar.TypeXGlobalHeader: // git archive notes the commit in one
		return nil
	case tar.TypeDir:
		name = strings.TrimSuffix(name, "/")
		if name == "" || name == "." {
			return nil
		}
		if err := checkName(name); err != nil {
			return err
		}
		return t.addFolder(name)
	case tar.TypeReg:
		return t.addRegular(name, header.Size, content)
	case tar.TypeSymlink, tar.TypeLink:
		return fmt.Errorf("entry %s: it is a link to %s; links are refused, put the file itself into the archive",
			quoted(header.Name), quoted(header.Linkname))
	}
	return fmt.Errorf("entry %s: it is neither a file nor a folder (tar type %q)", quoted(header.Name), header.Typeflag)
}

func (t *tree) addRegular(name string, size int64, content io.Reader) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := t.reserve(name, size); err != nil {
		return err
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(content, data); err != nil {
		return fmt.Errorf("the archive is broken at entry %s: %w", quoted(name), explained(err))
	}
	t.put(name, data)
	return nil
}

func brokenAfter(entry string, err error) error {
	if entry == "" {
		return fmt.Errorf("not a .tgz archive: %w", explained(err))
	}
	return fmt.Errorf("the archive is broken after entry %s: %w", quoted(entry), explained(err))
}

func explained(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it is truncated: %w", err)
	}
	return err
}

// bounded is a reader that returns an error after a number of bytes. io.LimitedReader is not used, because it returns
// io.EOF, as if the archive ended there.
type bounded struct {
	reader io.Reader
	left   int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.reader.Read(p)
	b.left -= int64(n)
	return n, err
}
