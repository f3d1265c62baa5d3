package source

import "fmt"

// MaxConfigMapArchive is the maximum size in bytes of an archive in a ConfigMap. The API server refuses objects above 1
// MiB; the archive is encoded in base64, and the metadata needs space too.
const MaxConfigMapArchive = 750 << 10

// MaxConfigMapsArchive is the maximum size in bytes of an archive whose parts are in several ConfigMaps.
const MaxConfigMapsArchive = 16 << 20

// Defaults of Limits. They are far above the size of a chart, and far below a size that harms an operator.
const (
	DefaultMaxEntries    = 10_000
	DefaultMaxFileBytes  = 8 << 20
	DefaultMaxTotalBytes = 32 << 20
)

// Limits limits the size of a source. Zero values select the defaults.
type Limits struct {
	// Entries is the maximum number of files and folders, including folders that only occur in paths of files.
	Entries int
	// FileBytes is the maximum size of a file.
	FileBytes int64
	// TotalBytes is the maximum total size of all files.
	TotalBytes int64
	// Reserve is called with the memory of each file before its content is read, in bytes. If it returns an error, the
	// source is not read. Nil reserves nothing.
	Reserve func(bytes int64) error
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

// budget is the remainder of the limits while a source is read.
type budget struct {
	limits  Limits
	entries int
	total   int64
}

// takeFile charges a file to the budget before its content is read.
func (b *budget) takeFile(name string, size int64) error {
	if size > b.limits.FileBytes {
		return fmt.Errorf(
			"entry %s: it holds %d bytes, more than the limit of %d for a file",
			quoted(name),
			size,
			b.limits.FileBytes,
		)
	}
	b.total += size
	if b.total > b.limits.TotalBytes {
		return fmt.Errorf(
			"entry %s: with it, the files hold more than the limit of %d bytes in sum",
			quoted(name),
			b.limits.TotalBytes,
		)
	}
	if err := b.takeEntry(name); err != nil {
		return err
	}
	if b.limits.Reserve == nil {
		return nil
	}
	return b.limits.Reserve(size + entryBytes)
}

// entryBytes is an estimate of the memory of an entry without its content.
const entryBytes = 512

func (b *budget) takeEntry(name string) error {
	b.entries++
	if b.entries > b.limits.Entries {
		return fmt.Errorf("entry %s: it exceeds the limit of %d files and folders", quoted(name), b.limits.Entries)
	}
	return nil
}
