package generator

import (
	"time"

	"github.com/fairlead-io/fairlead/internal/bounded"
)

// Defaults of Limits. They are far above the size of a component, and far below a size that harms an operator.
const (
	DefaultMaxOutputBytes = 64 << 20
	DefaultMaxObjects     = bounded.DefaultRenderedObjects
	DefaultMaxNodes       = bounded.DefaultRenderedNodes
	DefaultMaxDepth       = 200
	DefaultMaxAliasBytes  = bounded.DefaultAliasBytes
	DefaultMaxDuration    = 30 * time.Second
)

// Limits are the limits of one rendering by an engine, so that no source can exhaust the memory or the time of the
// operator. Zero values select the defaults. If an engine cannot enforce a limit in all cases, the comment of its
// option Limits says so; see kustomize.Options.
type Limits struct {
	// OutputBytes is the maximum number of bytes that templates write. Each inclusion of a template counts, and so do the
	// strings and lists that functions return. The limit also holds for the input of the YAML decoder.
	OutputBytes int
	// Objects is the maximum number of rendered objects.
	Objects int
	// Nodes is the maximum number of maps, lists, values and keys in the decoded manifests of a rendering: a few bytes of
	// YAML take a kilobyte of memory while they are decoded. A document may have a fifth of them, and the files
	// that kustomize reads may have a quarter. For texts that templates decode, and for values, the limit is 200,000.
	Nodes int
	// Depth is the maximum depth of nested template inclusions. It prevents a stack overflow, from which a Go program
	// cannot recover.
	Depth int
	// AliasBytes limits the expansion of aliases in a YAML document: a few hundred bytes can expand to terabytes.
	AliasBytes int
	// Duration is the maximum time of a rendering. A library that cannot be interrupted continues in the background after
	// this time, and its result is dropped.
	Duration time.Duration
}

// WithDefaults returns the limits with defaults instead of zero values.
func (l Limits) WithDefaults() Limits {
	return Limits{
		OutputBytes: orDefault(l.OutputBytes, DefaultMaxOutputBytes),
		Objects:     orDefault(l.Objects, DefaultMaxObjects),
		Nodes:       orDefault(l.Nodes, DefaultMaxNodes),
		Depth:       orDefault(l.Depth, DefaultMaxDepth),
		AliasBytes:  orDefault(l.AliasBytes, DefaultMaxAliasBytes),
		Duration:    orDefault(l.Duration, DefaultMaxDuration),
	}
}

func orDefault[T int | time.Duration](value, fallback T) T {
	if value <= 0 {
		return fallback
	}
	return value
}
