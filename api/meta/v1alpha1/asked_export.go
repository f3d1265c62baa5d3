package v1alpha1

import (
	"encoding/json"
	"fmt"
	"strings"
)

// AskedExport is an export that a rendering asked for. Status.AskedExports contains asked exports in their text form:
// the name alone if the export had no value, or the name and the value as JSON:
//
//	dbHost="10.0.0.7"
type AskedExport struct {
	// Name is the name of the export.
	Name string
	// Value is the value that the rendering got, as JSON. It is empty if the export had no value.
	Value string
	// Lost is set if the export has no value because the status of the component was lost. The export may have had a value
	// before. The text form is the name with a question mark.
	Lost bool
}

const lostExport = "?"

// String returns the text form.
func (e AskedExport) String() string {
	switch {
	case e.Value != "":
		return e.Name + "=" + e.Value
	case e.Lost:
		return e.Name + lostExport
	}
	return e.Name
}

// ParseAskedExport parses the text form. The error contains the name, and not the value.
func ParseAskedExport(text string) (AskedExport, error) {
	name, value, found := strings.Cut(text, "=")
	e := AskedExport{Name: name, Value: value}
	if !found {
		e.Name, e.Lost = strings.CutSuffix(name, lostExport)
	}
	switch {
	case e.Name == "" || strings.Contains(e.Name, lostExport):
		return AskedExport{}, fmt.Errorf("asked export %q: want a name", name)
	case found && !json.Valid([]byte(value)):
		return AskedExport{}, fmt.Errorf("asked export %q: the value is not JSON", name)
	}
	return e, nil
}
