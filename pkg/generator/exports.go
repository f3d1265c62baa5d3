package generator

import (
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/util/json"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// Exports are the values that dependents of the component export with the annotation export, such as the address of a
// load balancer. A component is rendered again when the value of an export changes that its last rendering asked for.
// Exports of Secrets are not available. The zero value contains no values.
//
// The first rendering of a component knows no values, so a generator must be able to render without them. While an
// export that the rendering asked for has no value, nothing is pruned, and the component is not Ready. If a value
// vanishes, renderings get the last known value.
type Exports struct {
	values map[string]any
	// asked is called with each name that is asked for. It may be nil.
	asked func(name string)
}

// NewExports returns exports with the given values, which have the types of Request.Parameters.
func NewExports(values map[string]any) Exports { return Exports{values: values} }

// ExportsOf returns the exports in the status of a component, for a rendering without an operator. Unreadable entries
// are ignored.
func ExportsOf(status *metav1alpha1.Status) Exports {
	values := map[string]any{}
	for _, line := range status.AskedExports {
		var value any
		e, err := metav1alpha1.ParseAskedExport(line)
		if err == nil && e.Value != "" && json.Unmarshal([]byte(e.Value), &value) == nil {
			values[e.Name] = value
		}
	}
	return Exports{values: values}
}

// Value returns a copy of the value of an export. ok is false if the export has no value yet.
func (e Exports) Value(name string) (value any, ok bool) {
	if e.asked != nil {
		e.asked(name)
	}
	value, ok = e.values[name]
	return copyParameters(value), ok
}

// Known returns the known values. It does not count as a question, so it is for code that sends a request to another
// process. Only exports that an earlier rendering asked for have known values.
func (e Exports) Known() map[string]any { return maps.Clone(e.values) }

// Equal reports whether both have the same values. It does not count as a question.
func (e Exports) Equal(other Exports) bool {
	return len(e.values) == 0 && len(other.values) == 0 || reflect.DeepEqual(e.values, other.values)
}

// OnAsk returns the same exports, which call asked with each name that is asked for. asked must be safe for
// concurrent use.
func (e Exports) OnAsk(asked func(name string)) Exports {
	e.asked = asked
	return e
}
