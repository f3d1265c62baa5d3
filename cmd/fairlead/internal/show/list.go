package show

import (
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// List is a list of components.
type List struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Items are ordered by namespace and name.
	Items []Component `json:"items"`
}

// NewList returns a list of components.
func NewList(items []Component) List {
	return List{APIVersion: SchemaVersion, Kind: "List", Items: append([]Component{}, items...)}
}

// Print writes the list in a format. Ages are counted up to now.
func (l List) Print(out io.Writer, format Format, now time.Time) error {
	if format != FormatTable {
		return encode(out, format, l)
	}
	rows := [][]string{{"NAMESPACE", "NAME", "READY", "STATE", "DEPENDENTS", "REVISION", "AGE", "MESSAGE"}}
	for _, c := range l.Items {
		rows = append(rows, []string{
			orDash(c.Namespace), c.Name, c.Ready, orDash(c.State), c.Dependents.Summary, fmt.Sprint(c.Revision),
			duration.HumanDuration(now.Sub(c.CreationTimestamp.Time)), oneLine(c.Message),
		})
	}
	return table(out, rows)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
