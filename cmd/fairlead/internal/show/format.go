package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/yaml"
)

// Format is a form of output.
type Format string

// The formats.
const (
	FormatTable Format = ""
	FormatJSON  Format = "json"
	FormatYAML  Format = "yaml"
)

// ParseFormat reads what a person asks for.
func ParseFormat(text string) (Format, error) {
	switch f := Format(text); f {
	case FormatTable, FormatJSON, FormatYAML:
		return f, nil
	}
	return "", fmt.Errorf("output format %q: want json or yaml", text)
}

func encode(out io.Writer, format Format, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return err
	}
	if format == FormatJSON {
		_, err := text.WriteTo(out)
		return err
	}
	document, err := yaml.JSONToYAML(text.Bytes())
	if err != nil {
		return err
	}
	_, err = out.Write(document)
	return err
}

// table writes rows in columns, without blanks at the end of lines.
func table(out io.Writer, rows [][]string) error {
	var aligned bytes.Buffer
	columns := tabwriter.NewWriter(&aligned, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(columns, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(aligned.String()) {
		if _, err := fmt.Fprintln(out, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
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

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
