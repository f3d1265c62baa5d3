package source

import "fmt"

// MaxConfigMapArchive is the size in bytes up to which an archive fits a ConfigMap. The API server refuses objects above 1 MiB; the
// archive travels in base64, and metadata takes its share.
const MaxConfigMapArchive = 750 << 10

// The limits that apply where Limits is silent. They are far above what a chart needs, and far below what hurts an operator.
const (
	DefaultMaxEntries    = 10_000
	DefaultMaxFileBytes  = 8 << 20
	DefaultMaxTotalBytes = 32 << 20
)

// Limits bound what a source may hold. Zero values mean the defaults.
type Limits struct {
	// Entries counts files and folders, folders that only paths of files imply included.
	Entries int
	// FileBytes is the size of the largest file.
	FileBytes int64
	// TotalBytes is the sum of all files.
	TotalBytes int64
}

func (l Limits) withDefaults() Limits {
	if l.Entries <= 0 {
		l.Entries = DefaultMaxEntries
	}
	if l.FileBytes <= 0 {
		l.FileBytes = DefaultMaxFileBytes
	}
	if l.TotalBytes <= 0 {
		l.TotalBytes = DefaultMaxTotalBytes
	}
	return l
}

// budget is what remains of limits while a source is read.
type budget struct {
	limits  Limits
	entries int
	total   int64
}

// takeFile accounts for a file, before its content is read.
func (b *budget) takeFile(name string, size int64) error {
	if size > b.limits.FileBytes {
		return fmt.Errorf("entry %s: it holds %d bytes, more than the limit of %d for a file", quoted(name), size, b.limits.FileBytes)
	}
	b.total += size
	if b.total > b.limits.TotalBytes {
		return fmt.Errorf("entry %s: with it, the files hold more than the limit of %d bytes in sum", quoted(name), b.limits.TotalBytes)
	}
	return b.takeEntry(name)
}

func (b *budget) takeEntry(name string) error {
	b.entries++
	if b.entries > b.limits.Entries {
		return fmt.Errorf("entry %s: it exceeds the limit of %d files and folders", quoted(name), b.limits.Entries)
	}
	return nil
}
