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

// Field identifies a field of a manifest. It does not contain the value of the field, which may be secret.
type Field struct {
	Object manifests.Key
	// Path contains the keys of maps and the indices of lists, from the root of the manifest.
	Path []any
}

// String returns the object and the field, for example "Secret shop/db: data.password".
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

// Difference is the difference of two renderings.
type Difference struct {
	// Shape describes the differences in structure: objects or fields that only one rendering has, and lists of
	// different lengths. Each text names the object and the field, and no value.
	Shape []string
	// Values are the fields that both renderings contain with different values.
	Values []Field
}

// Empty reports whether the renderings are equal.
func (d Difference) Empty() bool { return len(d.Shape) == 0 && len(d.Values) == 0 }

// Within reports whether all differences of d are also in other.
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

// Plain returns copies of manifests that consist of plain JSON values. The manifests of a generator may have values of
// any type, and several manifests may share a value. Plain returns an error for a manifest that is not valid JSON.
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

// Compare returns the difference of two renderings, which must consist of plain values. The result does not depend on
// the order of the objects.
func Compare(a, b []*unstructured.Unstructured) Difference {
	var d Difference
	first, second := index(a), index(b)
	for _, id := range sortedIDs(first, second) {
		one, two := first[id], second[id]
		if one == nil || two == nil {
			d.Shape = append(d.Shape, fmt.Sprintf("%s is in one rendering only", id.key))
			continue
		}
		w := walk{key: id.key, difference: &d}
		w.compare(nil, one.Object, two.Object)
	}
	return d
}

// objectID identifies an object of a rendering. The field copy is a counter that distinguishes objects with the same
// key.
type objectID struct {
	key  manifests.Key
	copy int
}

// KeyOf returns the key of a manifest, as in the fields of a Difference.
func KeyOf(o *unstructured.Unstructured) manifests.Key {
	gk := o.GroupVersionKind().GroupKind()
	return manifests.Key{Group: gk.Group, Kind: gk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

func index(set []*unstructured.Unstructured) map[objectID]*unstructured.Unstructured {
	found := make(map[objectID]*unstructured.Unstructured, len(set))
	for _, o := range set {
		id := objectID{key: KeyOf(o)}
		for found[id] != nil {
			id.copy++
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
		return a.copy - b.copy
	})
}

// walk compares two manifests of an object, from the root to the scalars.
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
		w.shape(path, "has a different type")
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
			w.shape(deeper, "is in one rendering only")
			continue
		}
		w.compare(deeper, one, two)
	}
}

func (w walk) compareLists(path []any, a, b []any) {
	if len(a) != len(b) {
		w.shape(path, "has a different number of elements")
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
