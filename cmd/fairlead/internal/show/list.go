package show

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// List is a list of components.
type List struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Operator is set if all statuses may be old. Components in namespaces that no operator watches have a field of their
	// own.
	Operator *Operator `json:"operator,omitempty"`
	// Items are sorted by namespace, type and name. Components of the ready-made operator come first in a namespace.
	Items []Component `json:"items"`
	// Typed prints the names of components of other operators with their types, as arguments name them.
	Typed bool `json:"-"`
}

// NewList returns a list of components.
func NewList(items []Component) List {
	return List{APIVersion: SchemaVersion, Kind: "List", Items: append([]Component{}, items...)}
}

// Print writes the list. Ages are relative to now.
func (l List) Print(o Output, now time.Time) error {
	switch {
	case o.Structured():
		return o.write(l)
	case o.Format == FormatName:
		names := make([]string, 0, len(l.Items))
		for _, c := range l.Items {
			names = append(names, c.objectName())
		}
		return o.names(names)
	}
	titles := []string{"NAMESPACE", "NAME", "READY", "STATE", "DEPENDENTS", "REVISION", "AGE"}
	if o.Format == FormatWide {
		titles = append(titles, "GENERATION", "OBSERVED", "REASON")
	}
	var rows [][]cell
	for _, c := range l.Items {
		name := c.Name
		if l.Typed && !c.isReadyMade() {
			name = c.objectName()
		}
		cells := row(orDash(c.Namespace), name, c.Ready, "", c.Dependents.Summary, fmt.Sprint(c.Revision),
			duration.HumanDuration(now.Sub(c.CreationTimestamp.Time)))
		cells[3] = state(c.State)
		if o.Format == FormatWide {
			cells = append(cells, row(fmt.Sprint(c.Generation), fmt.Sprint(c.ObservedGeneration), orDash(c.Reason))...)
		}
		rows = append(rows, append(cells, row(c.Message)...))
	}
	return table(o, append(titles, "MESSAGE"), rows)
}
