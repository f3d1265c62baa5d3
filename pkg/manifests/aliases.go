package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// aliasDepth is the number of levels of nested YAML (YAML in strings of YAML documents) that CheckAliases reads.
const aliasDepth = 3

// CheckAliases returns an error if the aliases in a YAML stream expand to more than limit bytes, or if an anchor
// contains itself. Parsers replace an alias by its anchor, so a few hundred bytes can expand to terabytes. Strings that
// contain YAML are checked too, because tools read manifests from strings. Invalid YAML is no error here; the parser
// reports it.
func CheckAliases(text []byte, limit int) error {
	return checkAliases(text, limit, aliasDepth)
}

func checkAliases(text []byte, limit, depth int) error {
	if depth == 0 || !mayHaveAliases(text) {
		return nil
	}
	documents := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document yaml.Node
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) || err != nil {
			return nil
		}
		a := aliases{limit: limit, depth: depth, sizes: map[*yaml.Node]int{}}
		a.size(&document)
		if a.err != nil {
			return a.err
		}
	}
}

// mayHaveAliases reports whether text may contain YAML aliases. Most manifests have none, and this quick check avoids
// parsing them.
func mayHaveAliases(text []byte) bool {
	return bytes.IndexByte(text, '&') >= 0 && bytes.IndexByte(text, '*') >= 0
}

// aliases measures the nodes of a document.
type aliases struct {
	limit, depth int
	// sizes holds the sizes of the nodes that have an anchor. The size is -1 while the node is being measured.
	sizes map[*yaml.Node]int
	// expanded is the size of all expanded aliases in bytes.
	expanded int
	err      error
}

// size returns the size of an expanded node in bytes.
func (a *aliases) size(node *yaml.Node) int {
	if a.err != nil {
		return 0
	}
	if node.Kind == yaml.AliasNode {
		return a.alias(node)
	}
	if node.Anchor != "" {
		a.sizes[node] = -1
	}
	total := len(node.Value) + 1
	if node.Kind == yaml.ScalarNode && a.err == nil {
		a.err = checkAliases([]byte(node.Value), a.limit, a.depth-1)
	}
	for _, child := range node.Content {
		total += a.size(child)
	}
	if node.Anchor != "" {
		a.sizes[node] = total
	}
	return total
}

func (a *aliases) alias(node *yaml.Node) int {
	size := a.sizes[node.Alias]
	if size < 0 {
		a.err = fmt.Errorf("line %d: the anchor %q contains an alias of itself", node.Line, node.Value)
		return 0
	}
	if a.expanded += size; a.expanded > a.limit {
		a.err = fmt.Errorf(
			"line %d: the aliases up to here expand to more than %d bytes: use fewer",
			node.Line,
			a.limit,
		)
		return 0
	}
	return size
}
