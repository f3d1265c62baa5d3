package yamltext

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	yamlnode "go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// byteOrderMark is the mark with which some editors begin a file in UTF-8.
const byteOrderMark = "\xef\xbb\xbf"

// TrimMark removes a byte order mark at the beginning of a text.
func TrimMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte(byteOrderMark)) }

// Duplicate is a key that occurs twice in a map.
type Duplicate struct {
	// Line is the line of the second occurrence, from 1, or 0 if it is not known.
	Line int
	// Key is the key, or the path of the key in a JSON text.
	Key string
}

// String describes the duplicate without its line.
func (d Duplicate) String() string {
	return fmt.Sprintf("the key %q occurs twice in a map; the last value is used", d.Key)
}

// ToJSON converts the first document of a YAML text to JSON, and returns the duplicate keys of this document. The
// errors are those of sigs.k8s.io/yaml.
func ToJSON(text []byte) (asJSON []byte, duplicates []Duplicate, err error) {
	text = TrimMarks(text)
	asJSON, err = yaml.YAMLToJSONStrict(text)
	if err == nil {
		return asJSON, nil, nil
	}
	asJSON, lenient := yaml.YAMLToJSON(text)
	if lenient != nil {
		return nil, nil, err
	}
	return asJSON, duplicatesIn(text), nil
}

// FromJSON decodes a JSON value, with int64 for whole numbers, and returns its duplicate keys, without lines.
func FromJSON(text []byte) (value any, duplicates []Duplicate, err error) {
	strict, err := kjson.UnmarshalStrict(text, &value, kjson.DisallowDuplicateFields)
	if err != nil {
		return nil, nil, err
	}
	for _, found := range strict {
		key := found.Error()
		if field, ok := errors.AsType[kjson.FieldError](found); ok {
			key = field.FieldPath()
		}
		duplicates = append(duplicates, Duplicate{Key: key})
	}
	return value, duplicates, nil
}

// TrimMarks removes byte order marks at the beginning of lines before the content of the first document, for instance
// after its marker. It keeps the number of lines.
func TrimMarks(text []byte) []byte {
	if !bytes.Contains(text, []byte(byteOrderMark)) {
		return text
	}
	var trimmed []byte
	rest := text
	for line := range bytes.Lines(text) {
		rest = rest[len(line):]
		line = TrimMark(line)
		trimmed = append(trimmed, line...)
		content := bytes.TrimSpace(bytes.TrimPrefix(line, []byte("---")))
		if len(content) > 0 && content[0] != '#' && content[0] != '%' {
			break
		}
	}
	return append(trimmed, rest...)
}

// duplicatesIn returns the duplicate keys of the first document of a YAML text.
func duplicatesIn(text []byte) []Duplicate {
	var root yamlnode.Node
	if err := yamlnode.NewDecoder(bytes.NewReader(text)).Decode(&root); err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	return duplicatesOf(&root, nil)
}

func duplicatesOf(node *yamlnode.Node, found []Duplicate) []Duplicate {
	known := map[string]bool{}
	for i, child := range node.Content {
		isKey := node.Kind == yamlnode.MappingNode && i%2 == 0
		if isKey && child.Kind == yamlnode.ScalarNode && child.Tag != "!!merge" {
			if known[child.Value] {
				found = append(found, Duplicate{Line: child.Line, Key: child.Value})
			}
			known[child.Value] = true
		}
		found = duplicatesOf(child, found)
	}
	return found
}

// Single returns a YAML stream in which each map contains only the last value of each key, and the duplicate keys. A
// stream without duplicates, and one that cannot be parsed, is returned unchanged.
func Single(stream []byte) ([]byte, []Duplicate) {
	var documents []*yamlnode.Node
	var duplicates []Duplicate
	for decoder := yamlnode.NewDecoder(bytes.NewReader(stream)); ; {
		document := &yamlnode.Node{}
		if err := decoder.Decode(document); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return stream, nil
		}
		duplicates = duplicatesOf(document, duplicates)
		documents = append(documents, document)
	}
	if len(duplicates) == 0 {
		return stream, nil
	}
	var single bytes.Buffer
	encoder := yamlnode.NewEncoder(&single)
	for _, document := range documents {
		dropDuplicates(document)
		if err := encoder.Encode(document); err != nil {
			return stream, nil
		}
	}
	if err := encoder.Close(); err != nil {
		return stream, nil
	}
	return single.Bytes(), duplicates
}

// dropDuplicates removes the keys of maps that occur again later, with their values.
func dropDuplicates(node *yamlnode.Node) {
	if node.Kind == yamlnode.MappingNode {
		var kept []*yamlnode.Node
		later := map[string]bool{}
		for i := len(node.Content) - 2; i >= 0; i -= 2 {
			key := node.Content[i]
			if key.Kind == yamlnode.ScalarNode && key.Tag != "!!merge" {
				if later[key.Value] {
					continue
				}
				later[key.Value] = true
			}
			kept = append(kept, node.Content[i+1], key)
		}
		slices.Reverse(kept)
		node.Content = kept
	}
	for _, child := range node.Content {
		dropDuplicates(child)
	}
}
