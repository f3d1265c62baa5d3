package show

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

// Format is an output format.
type Format string

// The output formats of the flag --output.
const (
	FormatTable Format = ""
	FormatWide  Format = "wide"
	FormatName  Format = "name"
	FormatJSON  Format = "json"
	FormatYAML  Format = "yaml"
)

// Formats are the formats of commands that print objects, without the default. Documents are the formats of commands
// that print other results.
var (
	Formats   = []Format{FormatWide, FormatName, FormatJSON, FormatYAML}
	Documents = []Format{FormatJSON, FormatYAML}
)

// ParseFormat returns the format in the value of a flag. An empty value is the default format, a table.
func ParseFormat(text string, known []Format) (Format, error) {
	if f := Format(text); f == FormatTable || slices.Contains(known, f) {
		return f, nil
	}
	return "", fmt.Errorf("output format %q: want %s", text, Names(known))
}

// Names returns the names of formats as an enumeration, such as "wide, json or yaml".
func Names(formats []Format) string {
	var text strings.Builder
	for i, f := range formats {
		switch {
		case i > 0 && i == len(formats)-1:
			text.WriteString(" or ")
		case i > 0:
			text.WriteString(", ")
		}
		text.WriteString(string(f))
	}
	return text.String()
}

// Output is the writer of results, with their format and colours.
type Output struct {
	io.Writer
	Format  Format
	Palette terminal.Palette
}

// write writes a value as JSON or YAML.
func (o Output) write(value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return err
	}
	inJSON := escaped(text.String())
	if o.Format == FormatJSON {
		_, err := io.WriteString(o, inJSON)
		return err
	}
	document, err := yaml.JSONToYAML([]byte(inJSON))
	if err != nil {
		return err
	}
	if document, err = escapedYAML(document); err != nil {
		return err
	}
	_, err = o.Write(document)
	return err
}

// escapedYAML is like escaped for YAML. In YAML only scalars in double quotes have escapes, so scalars with such
// characters get these quotes.
func escapedYAML(document []byte) ([]byte, error) {
	if !bytes.ContainsFunc(document, raw) {
		return document, nil
	}
	var root yamlnode.Node
	if err := yamlnode.Unmarshal(document, &root); err != nil {
		return nil, err
	}
	quote(&root)
	var text bytes.Buffer
	encoder := yamlnode.NewEncoder(&text)
	encoder.CompactSeqIndent()
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(&root), encoder.Close()); err != nil {
		return nil, err
	}
	return []byte(escaped(text.String())), nil
}

// quote sets double quotes for the scalars with characters that control a terminal.
func quote(node *yamlnode.Node) {
	if node.Kind == yamlnode.ScalarNode && strings.ContainsFunc(node.Value, raw) {
		node.Style = yamlnode.DoubleQuotedStyle
	}
	for _, child := range node.Content {
		quote(child)
	}
}

// raw reports whether a character of a document controls a terminal. Line breaks separate the lines of a document.
func raw(r rune) bool { return r != '\n' && terminal.Controls(r) }

// escaped returns a JSON document with the same content, in which no character controls a terminal.
func escaped(document string) string {
	var text strings.Builder
	for _, r := range document {
		if raw(r) {
			fmt.Fprintf(&text, `\u%04x`, r) // All of these characters have four digits.
		} else {
			text.WriteRune(r)
		}
	}
	return text.String()
}

// Structured reports whether the format is for programs.
func (o Output) Structured() bool { return o.Format == FormatJSON || o.Format == FormatYAML }

// names writes one name in each line, as kubectl does.
func (o Output) names(names []string) error {
	_, err := io.WriteString(o, terminal.CleanText(lines(names)))
	return err
}

// ObjectName returns the name of an object in the form of kubectl, such as deployment.apps/web.
func ObjectName(group, kind, name string) string {
	return withGroup(strings.ToLower(kind), group) + "/" + name
}

func lines(all []string) string {
	var text strings.Builder
	for _, line := range all {
		text.WriteString(line + "\n")
	}
	return text.String()
}

func withGroup(kind, group string) string {
	if group == "" {
		return kind
	}
	return kind + "." + group
}

func withNamespace(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// oneLine removes line breaks and control characters from a message, so that it fits into a row of a table.
func oneLine(text string) string { return terminal.Clean(strings.Join(strings.Fields(text), " ")) }

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
