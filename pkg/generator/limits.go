package generator

import "time"

// The limits that apply where Limits is silent. They are far above what a component needs, and far below what hurts an operator.
const (
	DefaultMaxOutputBytes = 64 << 20
	DefaultMaxObjects     = 20_000
	DefaultMaxDepth       = 200
	DefaultMaxAliasBytes  = 8 << 20
	DefaultMaxDuration    = 30 * time.Second
)

// Limits bound one rendering of an engine, so that no source, however it was written, takes the operator down. Zero values mean the
// defaults. Each engine says what it does not bound.
type Limits struct {
	// OutputBytes is what templates may write, included templates counted each time, and the strings and lists that their functions make
	// counted, too. It also bounds what is decoded.
	OutputBytes int
	// Objects is the number of rendered objects.
	Objects int
	// Depth is how deep templates include each other. A Go program does not survive an exhausted stack.
	Depth int
	// AliasBytes bounds what the aliases of a YAML document stand for, written out: a few hundred bytes can stand for terabytes.
	AliasBytes int
	// Duration is the time that one rendering may take. What cannot be interrupted ends later, unseen.
	Duration time.Duration
}

// WithDefaults returns the limits with the defaults in place of zero values.
func (l Limits) WithDefaults() Limits {
	return Limits{
		OutputBytes: orDefault(l.OutputBytes, DefaultMaxOutputBytes),
		Objects:     orDefault(l.Objects, DefaultMaxObjects),
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
