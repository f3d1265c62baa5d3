package determinism

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Field is a place in a manifest. It never holds a value.
type Field struct {
	Object manifests.Key
	// Path leads to it: keys of maps, and indices of lists.
	Path []any
}

// String names the object and the field, as in "Secret shop/db: data.password".
func (f Field) String() string { return f.Object.String() + ": " + pathText(f.Path) }

func pathText(path []any) string {
	var b strings.Builder
	for _, step := range path {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			if strings.ContainsAny(step, "./[]") {
				b.WriteString("[" + strconv.Quote(step) + "]")
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

// Difference is how two renderings differ.
type Difference struct {
	// Shape says what is more than other values: other objects, other fields, lists of other lengths. Each text names the object and the
	// field, and no value.
	Shape []string
	// Values are the fields with other values.
	Values []Field
}

// Empty says that there is no difference.
func (d Difference) Empty() bool { return len(d.Shape) == 0 && len(d.Values) == 0 }

// Within says that there is nothing in the difference which is not in the other one.
func (d Difference) Within(other Difference) bool {
	texts := func(d Difference) map[string]bool {
		all := map[string]bool{}
		for _, s := range d.Shape {
			all[s] = true
		}
		for _, f := range d.Values {
			all[f.String()] = true
		}
		return all
	}
	known := texts(other)
	for text := range texts(d) {
		if !known[text] {
			return false
		}
	}
	return true
}

// Plain returns copies of manifests that consist of plain JSON values: an author may build them of any types, and share them.
func Plain(set []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	plain := make([]*unstructured.Unstructured, 0, len(set))
	for _, o := range set {
		data, err := json.Marshal(o.Object)
		if err != nil {
			return nil, fmt.Errorf("%s %s: the manifest cannot be written as JSON: %w", o.GetKind(), o.GetName(), err)
		}
		copied := &unstructured.Unstructured{}
		if err := json.Unmarshal(data, &copied.Object); err != nil {
			return nil, fmt.Errorf("%s %s: the manifest cannot be read as JSON: %w", o.GetKind(), o.GetName(), err)
		}
		plain = append(plain, copied)
	}
	return plain, nil
}

// Compare says how two renderings differ, whatever the order of their objects. Both consist of plain values.
func Compare(a, b []*unstructured.Unstructured) Difference {
	var d Difference
	first, second := index(a), index(b)
	for _, id := range sortedIDs(first, second) {
		one, two := first[id], second[id]
		if one == nil || two == nil {
			d.Shape = append(d.Shape, fmt.Sprintf("%s is rendered only one time", id.key))
			continue
		}
		w := walk{key: id.key, difference: &d}
		w.compare(nil, one.Object, two.Object)
	}
	return d
}

// objectID tells the objects of a set apart, also where one is rendered more than once.
type objectID struct {
	key   manifests.Key
	again int
}

func index(set []*unstructured.Unstructured) map[objectID]*unstructured.Unstructured {
	found := make(map[objectID]*unstructured.Unstructured, len(set))
	for _, o := range set {
		gk := o.GroupVersionKind().GroupKind()
		id := objectID{key: manifests.Key{Group: gk.Group, Kind: gk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}}
		for found[id] != nil {
			id.again++
		}
		found[id] = o
	}
	return found
}

func sortedIDs(sets ...map[objectID]*unstructured.Unstructured) []objectID {
	all := map[objectID]bool{}
	for _, set := range sets {
		for id := range set {
			all[id] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b objectID) int {
		if order := a.key.Compare(b.key); order != 0 {
			return order
		}
		return a.again - b.again
	})
}

// walk goes through two manifests of an object.
type walk struct {
	key        manifests.Key
	difference *Difference
}

func (w walk) compare(path []any, a, b any) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			w.compareMaps(path, a, b)
			return
		}
	case []any:
		if b, ok := b.([]any); ok {
			w.compareLists(path, a, b)
			return
		}
	}
	switch {
	case reflect.DeepEqual(a, b):
	case isScalar(a) && isScalar(b):
		w.difference.Values = append(w.difference.Values, Field{Object: w.key, Path: slices.Clone(path)})
	default:
		w.shape(path, "is of another kind")
	}
}

func (w walk) compareMaps(path []any, a, b map[string]any) {
	keys := map[string]bool{}
	for key := range a {
		keys[key] = true
	}
	for key := range b {
		keys[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		one, inOne := a[key]
		two, inTwo := b[key]
		deeper := append(slices.Clip(path), key)
		if inOne != inTwo {
			w.shape(deeper, "is rendered only one time")
			continue
		}
		w.compare(deeper, one, two)
	}
}

func (w walk) compareLists(path []any, a, b []any) {
	if len(a) != len(b) {
		w.shape(path, "has another number of elements")
		return
	}
	for i := range a {
		w.compare(append(slices.Clip(path), i), a[i], b[i])
	}
}

func (w walk) shape(path []any, what string) {
	w.difference.Shape = append(w.difference.Shape, Field{Object: w.key, Path: path}.String()+" "+what)
}

func isScalar(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}
