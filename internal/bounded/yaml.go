package bounded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// nestedTexts is the number of levels of nested YAML (YAML in strings of YAML documents) whose aliases are counted.
const nestedTexts = 3

// YAML returns an error if a YAML stream exceeds a limit. The limits of nodes and of depth apply to the stream; the
// limit of aliases applies to each of its documents, and to each string that contains YAML, because tools read
// manifests from strings.
//
// The depth is exact only if the stream may exceed the limit of depth as far as a scan of the text shows; the decoders
// of YAML refuse more than 10,000 levels.
func YAML(text []byte, limits Limits) error {
	l := limits.withDefaults()
	if err := yamlWithin(text, l, nestedTexts); err != nil || !mayNestDeeper(text, l.Depth) {
		return err
	}
	_, err := l.measure(text, 1)
	return err
}

// small is the number of nodes up to which Count returns an upper bound.
const small = 10_000

// Count is like YAML, and returns the number of nodes of the stream. For small streams, and for texts that are not
// valid YAML, the number may be larger.
func Count(text []byte, limits Limits) (int, error) {
	l := limits.withDefaults()
	if !mayHaveMore(text, min(small, l.Nodes)) && !mayHaveAliases(text) && !mayNestDeeper(text, l.Depth) {
		return min(small, len(text)), nil
	}
	if json.Valid(text) {
		return JSON(text, l)
	}
	return l.measure(text, nestedTexts)
}

// YAMLNodes is YAML without the limit of depth, for texts whose decoded form Value measures. It is faster for texts
// that contain many brackets.
func YAMLNodes(text []byte, limits Limits) error {
	return yamlWithin(text, limits.withDefaults(), nestedTexts)
}

// yamlWithin checks the nodes and the aliases of a stream. Most texts are so small, and have so few characters that
// begin a node, that they need not be parsed.
func yamlWithin(text []byte, l Limits, levels int) error {
	if levels == 0 {
		return nil
	}
	many := mayHaveMore(text, l.Nodes)
	if many && json.Valid(text) {
		_, err := JSON(text, l)
		return err
	}
	if !many && !mayHaveAliases(text) {
		return nil
	}
	_, err := l.measure(text, levels)
	return err
}

// measure parses a stream and counts its nodes. The parsed form of a node takes about 200 bytes, so a text that has
// more than two characters that begin a node for each allowed node is refused without parsing it.
func (l Limits) measure(text []byte, levels int) (int, error) {
	if at := offsetOfIndicator(text, 2*l.Nodes); at >= 0 {
		return 0, tooMany(lineAt(text, at), l.Nodes)
	}
	documents := yaml.NewDecoder(bytes.NewReader(text))
	m := measurement{limits: l, levels: levels}
	for {
		var document yaml.Node
		if err := documents.Decode(&document); errors.Is(err, io.EOF) || err != nil {
			return m.nodes, nil
		}
		m.expanded, m.anchors = 0, map[*yaml.Node]size{}
		if m.of(&document, -1); m.err != nil {
			return m.nodes, m.err
		}
	}
}

// size is the size of a node whose aliases are replaced.
type size struct{ nodes, bytes, depth int }

// measuring is the size of a node while it is being measured.
var measuring = size{nodes: -1}

// measurement measures the nodes of a stream.
type measurement struct {
	limits Limits
	levels int
	// nodes is the number of all nodes so far.
	nodes int
	// anchors holds the sizes of the nodes of the document that have an anchor.
	anchors map[*yaml.Node]size
	// expanded is the size of all replaced aliases of the document, in bytes.
	expanded int
	err      error
}

// of returns the size of a node at a depth.
func (m *measurement) of(node *yaml.Node, depth int) size {
	if m.err != nil {
		return size{}
	}
	if node.Kind == yaml.AliasNode {
		return m.alias(node, depth)
	}
	if depth >= m.limits.Depth && node.Kind != yaml.ScalarNode {
		m.err = tooDeep(node.Line, m.limits.Depth)
		return size{}
	}
	if node.Anchor != "" {
		m.anchors[node] = measuring
	}
	total := size{nodes: 1, bytes: len(node.Value) + 1}
	if node.Kind != yaml.DocumentNode {
		m.add(1, node.Line)
	}
	if node.Kind == yaml.ScalarNode && m.err == nil && mayHaveAliases([]byte(node.Value)) {
		m.text(node)
	}
	for _, child := range node.Content {
		inner := m.of(child, depth+1)
		total.nodes += inner.nodes
		total.bytes += inner.bytes
		total.depth = max(total.depth, inner.depth+1)
	}
	if node.Anchor != "" {
		m.anchors[node] = total
	}
	return total
}

// text checks a string that may contain YAML. Its errors name the line where the string begins.
func (m *measurement) text(node *yaml.Node) {
	err := yamlWithin([]byte(node.Value), m.limits, m.levels-1)
	if limit, ok := errors.AsType[*LimitError](err); ok {
		m.err = &LimitError{Line: node.Line, Reason: limit.Reason, Quotes: limit.Quotes}
	}
}

func (m *measurement) add(nodes, line int) {
	if m.nodes += nodes; m.nodes > m.limits.Nodes && m.err == nil {
		m.err = tooMany(line, m.limits.Nodes)
	}
}

func (m *measurement) alias(node *yaml.Node, depth int) size {
	replaced := m.anchors[node.Alias]
	if replaced == measuring {
		m.err = &LimitError{
			Line:   node.Line,
			Reason: fmt.Sprintf("the anchor %q contains an alias of itself", node.Value),
			Quotes: true,
		}
		return size{}
	}
	if m.expanded += replaced.bytes; m.expanded > m.limits.AliasBytes {
		m.err = &LimitError{Line: node.Line, Reason: fmt.Sprintf(
			"the aliases up to here expand to more than %d bytes: use fewer", m.limits.AliasBytes)}
		return size{}
	}
	if depth+replaced.depth > m.limits.Depth {
		m.err = tooDeep(node.Line, m.limits.Depth)
		return size{}
	}
	m.add(replaced.nodes, node.Line)
	return replaced
}

// mayHaveAliases reports whether text may contain YAML aliases. Most manifests have none, and this quick check avoids
// parsing them. The descriptions in large definitions contain & and *, but no anchors.
func mayHaveAliases(text []byte) bool { return mayHaveNames(text, '&') && mayHaveNames(text, '*') }

// escape is the length of the longest escape sequence in a string, such as \U0000000A.
const escape = 10

// mayHaveNames reports whether text may contain an anchor (mark &) or an alias (mark *): the mark is followed by a
// name, and is not in the middle of a word. A letter or digit after a backslash may belong to an escaped line break in
// a string that contains YAML. In UTF-16 a zero byte follows or precedes each character.
func mayHaveNames(text []byte, mark byte) bool {
	for at := 0; ; at++ {
		next := bytes.IndexByte(text[at:], mark)
		if next < 0 {
			return false
		}
		at += next
		named := at+1 < len(text) && (isWord(text[at+1]) || bytes.IndexByte([]byte("-_\x00"), text[at+1]) >= 0)
		inWord := at > 0 && isWord(text[at-1]) && bytes.IndexByte(text[max(0, at-escape):at], '\\') < 0
		if named && !inWord {
			return true
		}
	}
}

func isWord(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// indicators are the characters that begin a node: between two nodes there is at least one of them, and each begins at
// most two nodes, a key and its value. They count in strings as well, so their number is an upper bound.
const indicators = ":,[{?-"

// mayHaveMore reports whether a text may have more nodes than a limit.
func mayHaveMore(text []byte, limit int) bool {
	if 2*len(text) < limit {
		return false
	}
	count := 0
	for _, indicator := range []byte(indicators) {
		count += bytes.Count(text, []byte{indicator})
	}
	return 2*count+1 > limit
}

// offsetOfIndicator returns the offset of the indicator that exceeds a limit, or -1.
func offsetOfIndicator(text []byte, limit int) int {
	if len(text) <= limit {
		return -1
	}
	for at, c := range text {
		switch c {
		case ':', ',', '[', '{', '?', '-':
			if limit--; limit < 0 {
				return at
			}
		}
	}
	return -1
}

// mayNestDeeper reports whether a text may nest deeper than a limit: it has more brackets, or a line that is indented
// by more characters. Each level of a block, and each indicator of a list that begins on the same line, is indented
// further than the level above.
func mayNestDeeper(text []byte, limit int) bool {
	if len(text) < limit {
		return false
	}
	if bytes.Count(text, []byte{'['})+bytes.Count(text, []byte{'{'}) > limit {
		return true
	}
	for line := range bytes.Lines(text) {
		if len(line) > limit && len(line)-len(bytes.TrimLeft(line, " \t-?:")) > limit/2 {
			return true
		}
	}
	return false
}
