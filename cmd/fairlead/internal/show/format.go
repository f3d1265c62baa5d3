package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

// Format is a form of output.
type Format string

// The formats.
const (
	FormatTable Format = ""
	FormatWide  Format = "wide"
	FormatName  Format = "name"
	FormatJSON  Format = "json"
	FormatYAML  Format = "yaml"
)

// Formats are those of whatever shows objects, without the default; Documents are those of what shows no objects.
var (
	Formats   = []Format{FormatWide, FormatName, FormatJSON, FormatYAML}
	Documents = []Format{FormatJSON, FormatYAML}
)

// ParseFormat reads what a person asks for, which is one of those that there are, or nothing.
func ParseFormat(text string, known []Format) (Format, error) {
	if f := Format(text); f == FormatTable || slices.Contains(known, f) {
		return f, nil
	}
	return "", fmt.Errorf("output format %q: want %s", text, Names(known))
}

// Names lists formats in a sentence.
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

// Output is where something is shown, and how.
type Output struct {
	io.Writer
	Format  Format
	Palette terminal.Palette
}

// write writes a value for programs.
func (o Output) write(value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return err
	}
	if o.Format == FormatJSON {
		_, err := text.WriteTo(o)
		return err
	}
	document, err := yaml.JSONToYAML(text.Bytes())
	if err != nil {
		return err
	}
	_, err = o.Write(document)
	return err
}

// Structured says that the output is for programs.
func (o Output) Structured() bool { return o.Format == FormatJSON || o.Format == FormatYAML }

// names writes objects as kubectl does, one a line.
func (o Output) names(names []string) error {
	_, err := io.WriteString(o, lines(names))
	return err
}

// ObjectName returns the short form by which kubectl names objects: deployment.apps/web.
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

// oneLine makes a message fit into a row: without line breaks, and without what controls a terminal.
func oneLine(text string) string { return terminal.Clean(strings.Join(strings.Fields(text), " ")) }

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
