package show

import (
	"encoding/json"
	"slices"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

// maxExportText is the maximum length of an exported value in a table, in bytes.
const maxExportText = 100

// Export is an export that a component publishes for other components.
type Export struct {
	Name string `json:"name"`
	// Value is the value as JSON. It is nil if there is no value yet.
	Value json.RawMessage `json:"value,omitempty"`
}

// exportsOf returns the published exports, sorted by name: those with a value, and those that the spec names.
func exportsOf(status metav1alpha1.Status, names []string) []Export {
	names = slices.Clone(names)
	for name := range status.Exports {
		names = append(names, name)
	}
	slices.Sort(names)
	var exports []Export
	for _, name := range slices.Compact(names) {
		exports = append(exports, Export{Name: name, Value: status.Exports[name].Raw})
	}
	return exports
}

// exportsTable returns a table of the published exports.
func exportsTable(p terminal.Palette, exports []Export) []string {
	if len(exports) == 0 {
		return nil
	}
	rows := [][]cell{titled("EXPORT", "VALUE")}
	for _, e := range exports {
		rows = append(rows, row(e.Name, e.text()))
	}
	return append([]string{""}, columns(p, rows)...)
}

// text returns the value for a table. Texts have no quotes there.
func (e Export) text() string {
	if len(e.Value) == 0 {
		return "no value yet"
	}
	var plain string
	if err := json.Unmarshal(e.Value, &plain); err != nil {
		plain = string(e.Value)
	}
	if len(plain) > maxExportText {
		plain = strings.ToValidUTF8(plain[:maxExportText], "") + "…"
	}
	return plain
}
