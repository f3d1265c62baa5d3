package plan

import (
	"fmt"
	"slices"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// AskedExport is an export that a rendering asked for.
type AskedExport struct {
	metav1alpha1.AskedExport
	// Exporter is the object of the rendered set that exports the value. It is the zero value if no object does.
	Exporter manifests.Key
}

// IsDeclared reports whether an object of the rendered set exports the value.
func (a AskedExport) IsDeclared() bool { return a.Exporter != manifests.Key{} }

// OpenExport is an export that a rendering asked for and that has no value now.
type OpenExport struct {
	AskedExport
	// Message says why the export has no value.
	Message string
	// Terminal is set if waiting does not help.
	Terminal bool
}

// openSet ends the plan of a rendering that asked for exports without a value. Such a rendering may lack objects, so
// only the objects are removed that the rendering itself excludes by include-when.
func (p *Plan) openSet(f Facts, removals []metav1alpha1.InventoryEntry) {
	p.Applied = false
	for _, e := range f.Open {
		p.Waiting = append(p.Waiting, e.wait(f))
	}
	p.pruneAtOnce(f, removals)
}

// wait returns the wait for the value: of the object that exports it, or of the component if there is no such object.
func (e OpenExport) wait(f Facts) Waiting {
	text := fmt.Sprintf("the rendering asked for export %s: %s", e.Name, e.Message)
	switch {
	case e.Value == "":
	case e.Exporter.IsSecret():
		text += "; the last value is used"
	default:
		text += fmt.Sprintf("; the last value is used: %s", truncate(e.Value))
	}
	w := Waiting{Key: e.Exporter, Reason: WaitOpenSet, Message: text + "; nothing is pruned until it has a value"}
	if !e.IsDeclared() {
		w.Key = f.Component
	}
	if i := slices.IndexFunc(f.Desired, func(o manifests.Object) bool { return o.Key == e.Exporter }); i >= 0 {
		w.Wave = f.Desired[i].Settings.Order
	}
	if e.Terminal {
		w.Failure = &Failure{Class: Terminal, Reason: w.Reason, Message: w.Message}
	}
	return w
}
