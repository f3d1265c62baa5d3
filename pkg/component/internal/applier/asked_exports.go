package applier

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxAskedSize is the maximum size of the values that a rendering gets, as JSON, in bytes. They are written to the
// status.
const maxAskedSize = 16 << 10

// Asked compares the values of the exports that a rendering asked for with the values that the live objects export.
type Asked struct {
	exports []plan.AskedExport
	// hold is set if the rendering is used although it has outdated values.
	hold bool
	// rendered are the objects of the apply set that export these values, as they were rendered.
	rendered map[manifests.Key]manifests.Object
}

// Asked returns the exports that the rendering of a request asked for.
func (a *Applier) Asked(r Request) Asked {
	asked := Asked{exports: r.Asked, hold: r.HoldExports}
	if len(r.Asked) == 0 {
		return asked
	}
	asked.rendered = map[manifests.Key]manifests.Object{}
	for _, o := range r.Desired {
		if slices.ContainsFunc(r.Asked, func(e plan.AskedExport) bool { return e.Exporter == o.Key }) {
			asked.rendered[o.Key] = o
		}
	}
	return asked
}

// Compare compares the values that the rendering got with those that the live objects export now. If a value differs,
// renewed are the exports with the current values. open are the exports without a value. A value that vanished is no
// difference.
func (a Asked) Compare(f plan.Facts) (renewed []metav1alpha1.AskedExport, open []plan.OpenExport) {
	size, differs := 0, false
	for _, e := range a.exports {
		value, missing := a.valueOf(f, e)
		if size += len(value); missing == nil && size > maxAskedSize {
			missing = &plan.OpenExport{AskedExport: e, Terminal: true, Message: fmt.Sprintf(
				"the values that the rendering asked for have together more than %d bytes", maxAskedSize,
			)}
		}
		current := e.AskedExport
		switch {
		case missing != nil:
			open = append(open, *missing)
		case value == e.Value:
		case a.hold:
			open = append(open, plan.OpenExport{AskedExport: e, Message: changesOften})
		default:
			current, differs = metav1alpha1.AskedExport{Name: e.Name, Value: value}, true
		}
		renewed = append(renewed, current)
	}
	if !differs {
		return nil, open
	}
	return renewed, open
}

// changesOften is the message about a value that changes with each rendering.
const changesOften = "its value has changed several times since the inputs changed, so the next rendering is delayed; " +
	"make the manifest of the object that exports it independent of the value"

// valueOf returns the value of an export as JSON, or the reason why it has none.
func (a Asked) valueOf(f plan.Facts, e plan.AskedExport) (value string, missing *plan.OpenExport) {
	o, desired := a.rendered[e.Exporter]
	_, excluded := f.Excluded[e.Exporter]
	switch {
	case !e.IsDeclared():
		return "", &plan.OpenExport{
			AskedExport: e, Message: "no object of the rendering exports it", Terminal: e.Value != "",
		}
	case excluded:
		return "", &plan.OpenExport{AskedExport: e, Message: "include-when excludes the object that exports it"}
	case !desired:
		return "", &plan.OpenExport{AskedExport: e, Message: "the object that exports it is not active"}
	case e.Exporter.GroupKind() == schema.GroupKind{Kind: "Secret"}:
		return "", &plan.OpenExport{
			AskedExport: e, Message: "values of Secrets are not available to renderings", Terminal: true,
		}
	}
	exported, reason := exportOf(f, o, e.Name)
	if reason != "" {
		return "", &plan.OpenExport{AskedExport: e, Message: reason}
	}
	text, err := json.Marshal(exported)
	if err != nil {
		return "", &plan.OpenExport{AskedExport: e, Message: "the value cannot be written as JSON", Terminal: true}
	}
	return string(text), nil
}

// Hold returns an apply set in which the objects that exist are held, if the values were lost that were applied to
// them. The objects that export the values are not held, because the values may depend on their update.
func (a Asked) Hold(f plan.Facts) []manifests.Object {
	lost := slices.IndexFunc(f.Open, func(e plan.OpenExport) bool { return e.Lost })
	if lost < 0 {
		return f.Desired
	}
	held := slices.Clone(f.Desired)
	for i, o := range held {
		live := f.LiveOf(o.Key)
		_, exports := a.rendered[o.Key]
		if exports || o.Held != nil || live.Presence != plan.Present || live.Owner != f.Owner || live.Digest == o.Digest {
			continue
		}
		held[i].Held = &manifests.Held{Undecided: fmt.Sprintf(
			"the status of the component was lost, and with it the value of export %s that was applied; the object stays "+
				"as it is until the export has a value", f.Open[lost].Name,
		)}
	}
	return held
}

// outdated ends a pass whose rendering contains outdated values. asked are the exports with their current values.
func (a *Applier) outdated(
	client *target.Client, asked []metav1alpha1.AskedExport, facts plan.Facts, changes []result.Change, prep preparation,
) outcome.Outcome {
	a.keepObserved(client, facts)
	o := cut(prep, facts, changes)
	o.Asked, o.Inventory = asked, facts.Inventory.Sorted()
	o.Recorded, o.Unrecorded = facts.Recorded, prep.unwritten
	return o
}
