package execute

import (
	"encoding/json"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/fieldset"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
)

// merge returns a copy of the live object with the values of the manifest, and without our fields that the manifest
// does not have. Values of other managers and of the API server stay. The argument owned has our fields in the form of
// FieldsV1. The result changed reports whether the merged object differs from the live object.
func merge(live *unstructured.Unstructured, manifest, owned map[string]any) (merged map[string]any, changed bool) {
	merged = mergeMap(live.Object, manifest, node{owned: owned, shape: shapeOf(live), known: true})
	return merged, !equality.Semantic.DeepEqual(live.Object, merged)
}

// node is the part of the managed fields that describes a value.
type node struct {
	// owned are our fields below the value.
	owned map[string]any
	// shape contains the fields of all managers below the value. The shape shows which values the API server divides into
	// fields, and which keys identify the items of a list.
	shape map[string]any
	// known reports whether the value, or a field below it, has a manager.
	known bool
}

func (n node) child(name string) node {
	shape, known := n.shape[name]
	return node{owned: fieldsBelow(n.owned[name]), shape: fieldsBelow(shape), known: known}
}

// atomic reports whether the API server treats a value as a single field. Such a value is replaced as a whole.
func (n node) atomic() bool { return n.known && len(n.shape) == 0 }

func fieldsBelow(value any) map[string]any {
	fields, _ := value.(map[string]any)
	return fields
}

// shapeOf returns the shape of a live object. The shape has the live finalizers and owner references even if no managed
// fields entry has them, so that these lists are merged item by item.
func shapeOf(live *unstructured.Unstructured) map[string]any {
	shape := inspect.Shape(live.GetManagedFields())
	for _, f := range live.GetFinalizers() {
		addElement(shape, "f:finalizers", "v:", f)
	}
	for _, ref := range live.GetOwnerReferences() {
		addElement(shape, "f:ownerReferences", "k:", map[string]any{"uid": ref.UID})
	}
	return shape
}

func addElement(shape map[string]any, list, prefix string, identity any) {
	name, err := json.Marshal(identity)
	if err != nil {
		return
	}
	at := shape
	for _, step := range []string{"f:metadata", list, prefix + string(name)} {
		below := fieldsBelow(at[step])
		if below == nil {
			below = map[string]any{}
			at[step] = below
		}
		at = below
	}
}

// mergeMap merges a map of the manifest into a live map, field by field. A field that is null in the manifest is
// treated as missing.
func mergeMap(live, manifest map[string]any, n node) map[string]any {
	out := maps.Clone(live)
	if out == nil {
		out = map[string]any{}
	}
	for name := range n.owned {
		field, isField := strings.CutPrefix(name, "f:")
		if isField && manifest[field] == nil {
			removeField(out, field, n.child(name))
		}
	}
	for name, value := range manifest {
		if value != nil {
			out[name] = mergeValue(live[name], value, n.child("f:"+name))
		}
	}
	return out
}

// removeField removes our part of a field from a map. If the API server treats the value as a single field, the whole
// value is removed; otherwise our fields below the value are removed.
func removeField(out map[string]any, field string, n node) {
	switch value := out[field].(type) {
	case map[string]any:
		if rest := mergeMap(value, nil, n); !n.atomic() && len(rest) > 0 {
			out[field] = rest
			return
		}
	case []any:
		if rest := mergeList(value, nil, n); len(rest) > 0 {
			out[field] = rest
			return
		}
	}
	delete(out, field)
}

func mergeValue(live, value any, n node) any {
	switch v := value.(type) {
	case map[string]any:
		if l, ok := live.(map[string]any); ok && !n.atomic() {
			return mergeMap(l, v, n)
		}
	case []any:
		if l, ok := live.([]any); ok {
			return mergeList(l, v, n)
		}
	}
	return value
}

// mergeList merges a list of the manifest into a live list, item by item, if keys identify the items. A list whose
// items are not identified by keys is replaced as a whole. The items of other managers keep their position as far as
// the order of the manifest allows.
func mergeList(live, manifest []any, n node) []any {
	elements := fieldset.Elements(n.shape)
	if len(elements) == 0 {
		return manifest
	}
	positions, taken := pair(live, manifest, elements)
	out := make([]any, 0, len(live)+len(manifest))
	next := 0
	keepOthers := func(end int) {
		for ; next < end; next++ {
			if !taken[next] && !ownsItem(live[next], n.owned) {
				out = append(out, live[next])
			}
		}
	}
	for i, item := range manifest {
		p := positions[i]
		if p.index < 0 {
			out = append(out, item)
			continue
		}
		keepOthers(p.index)
		out = append(out, mergeValue(live[p.index], item, n.child(p.element)))
	}
	keepOthers(len(live))
	return out
}

// position is the place of an item of the manifest in the live list: its index, or -1 if it is missing there, and the
// FieldsV1 element that identifies the item.
type position struct {
	index   int
	element string
}

// pair returns the position of each item of the manifest list in the live list. taken is set for each live item that is
// also in the manifest.
func pair(live, manifest []any, elements []string) (positions []position, taken []bool) {
	taken = make([]bool, len(live))
	for _, item := range manifest {
		p := findItem(live, item, elements)
		if p.index >= 0 && taken[p.index] {
			p.index = -1
		}
		if p.index >= 0 {
			taken[p.index] = true
		}
		positions = append(positions, p)
	}
	return positions, taken
}

func findItem(live []any, item any, elements []string) position {
	for _, e := range elements {
		if !fieldset.Matches(item, e) {
			continue
		}
		for i, l := range live {
			if fieldset.Matches(l, e) {
				return position{index: i, element: e}
			}
		}
	}
	return position{index: -1}
}

func ownsItem(item any, owned map[string]any) bool {
	for _, e := range fieldset.Elements(owned) {
		if fieldset.Matches(item, e) {
			return true
		}
	}
	return false
}
