package preview

import (
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// bind evaluates the conditions and fills the holes of the apply set. An object that waits for a value which the
// simulation assumed counts as if the value were there. Objects that are left out, or whose conditions stay without a
// value, hold up no others. An export of a simulated object counts as unchanged, because its next value is not known.
func (r *simulation) bind(ctx context.Context) {
	r.facts = r.binder.Bind(ctx, r.facts)
	for key := range r.unbound {
		delete(r.facts.Unbound, key)
	}
	r.compare()
	if len(r.leftOut)+len(r.unserved)+len(r.conditional) == 0 {
		return
	}
	r.facts.Desired = slices.DeleteFunc(
		slices.Clone(r.facts.Desired), func(o manifests.Object) bool { return r.leftOut[o.Key] },
	)
	for i := range r.facts.Desired {
		if o := &r.facts.Desired[i]; r.unserved[o.Key] || o.Held != nil && r.conditional[o.Key] {
			o.Held = &manifests.Held{}
		}
	}
}

// compare finds the exports that the rendering asked for and that have other values, or none.
func (r *simulation) compare() {
	renewed, open := r.asked.Compare(r.facts)
	if len(r.written) == 0 {
		r.renewed = renewed
	}
	r.facts.Open = slices.DeleteFunc(open, func(e plan.OpenExport) bool {
		return e.Value != "" && r.written[e.Exporter]
	})
	r.facts.Desired = r.asked.Hold(r.facts)
}
