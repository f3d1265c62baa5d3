package source

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
)

// Digest returns the digest of a source. It covers the paths of files and folders, and the content of files. It depends
// neither on the archive format nor on the times and modes of files. The result consists of 64 hexadecimal digits.
func Digest(fsys fs.FS) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			writeField(sum, []byte("folder"))
			writeField(sum, []byte(name))
			return nil
		}
		content, err := fs.ReadFile(fsys, name)
		if err != nil {
			return fmt.Errorf("entry %q: %w", name, err)
		}
		writeField(sum, []byte("file"))
		writeField(sum, []byte(name))
		writeField(sum, content)
		return nil
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// writeField writes the length before the field, so that different sequences of fields never produce the same bytes. It
// ignores the error of Write, because writing to a hash never fails.
func writeField(sum hash.Hash, field []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(field)))
	_, _ = sum.Write(length[:])
	_, _ = sum.Write(field)
}

// Size returns the total size of the files in bytes.
func Size(fsys fs.FS) (int64, error) {
	var size int64
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return fmt.Errorf("entry %q: %w", name, err)
		}
		size += info.Size()
		return nil
	})
	return size, err
}
