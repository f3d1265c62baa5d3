package bounded

import (
	"bytes"
	"cmp"
	"fmt"
)

// Defaults of Limits. A node takes up to 700 bytes while YAML is decoded, and up to 160 bytes afterwards.
const (
	// DefaultNodes is the number of nodes of a document. The largest public definitions have about a third.
	DefaultNodes = 200_000
	// DefaultDepth is the depth of nested maps and lists.
	DefaultDepth = 1000
	// DefaultAliasBytes is the size to which the aliases of a YAML document expand.
	DefaultAliasBytes = 8 << 20
)

// Defaults of the limits of all manifests of a rendering. They are far above the size of a component, and far below a
// size that harms an operator.
const (
	DefaultRenderedObjects = 20_000
	DefaultRenderedNodes   = 1_000_000
)

// Limits are the limits of a text. Zero values select the defaults.
type Limits struct {
	// Nodes is the maximum number of nodes. Aliases count as the nodes that replace them.
	Nodes int
	// Depth is the maximum depth of nested maps and lists.
	Depth int
	// AliasBytes is the maximum size of the text that replaces the aliases of a YAML document.
	AliasBytes int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Nodes:      cmp.Or(l.Nodes, DefaultNodes),
		Depth:      cmp.Or(l.Depth, DefaultDepth),
		AliasBytes: cmp.Or(l.AliasBytes, DefaultAliasBytes),
	}
}

// LimitError means that a text or a value exceeds a limit.
type LimitError struct {
	// Line is the line of the text where the limit is exceeded, from 1, or 0 if it is not known.
	Line int
	// Reason names the limit.
	Reason string
	// Quotes is set if the reason quotes a part of the text.
	Quotes bool
}

// Error returns the line and the reason.
func (e *LimitError) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

func tooMany(line, limit int) error {
	return &LimitError{
		Line: line,
		Reason: fmt.Sprintf(
			"more than %d maps, lists, values and keys: the limit protects the memory of the operator", limit),
	}
}

func tooDeep(line, limit int) error {
	return &LimitError{Line: line, Reason: fmt.Sprintf("maps and lists nest more than %d deep", limit)}
}

// lineAt returns the line of an offset, from 1.
func lineAt(text []byte, offset int) int { return bytes.Count(text[:offset], []byte("\n")) + 1 }
