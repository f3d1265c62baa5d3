package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// aliasDepth bounds how many documents inside strings of documents CheckAliases looks into.
const aliasDepth = 3

// CheckAliases refuses YAML whose aliases stand for more than limit bytes when they are written out, or for themselves. Parsers replace
// an alias by what it stands for, so a few hundred bytes can become terabytes. A string that holds YAML is looked into, too, because
// tools take manifests from strings. What is no YAML is fine: whoever parses it says what is wrong with it.
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

// mayHaveAliases is quick, because nearly no manifest has them.
func mayHaveAliases(text []byte) bool {
	return bytes.IndexByte(text, '&') >= 0 && bytes.IndexByte(text, '*') >= 0
}

// aliases measures the nodes of a document.
type aliases struct {
	limit, depth int
	// sizes holds the nodes with an anchor; -1 while one is being measured.
	sizes map[*yaml.Node]int
	// expanded is what all aliases stand for.
	expanded int
	err      error
}

// size returns the bytes of a node that is written out.
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
		a.err = fmt.Errorf("line %d: the anchor %q stands for something that contains it", node.Line, node.Value)
		return 0
	}
	if a.expanded += size; a.expanded > a.limit {
		a.err = fmt.Errorf("line %d: the aliases up to here stand for more than %d bytes: use fewer", node.Line, a.limit)
		return 0
	}
	return size
}
