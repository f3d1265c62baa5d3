package determinism

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Merge returns a rendering in which some fields have the values that were kept of an earlier one. Where there is a field of which no value
// was kept, as in an object that is new, it returns these fields, and no set: a value of one rendering beside values of another could
// contradict them, as a certificate contradicts the key of another. The sets themselves are not changed.
func Merge(kept, rendered []*unstructured.Unstructured, fields []Field) (merged []*unstructured.Unstructured, unknown []Field) {
	was := index(kept)
	merged = make([]*unstructured.Unstructured, 0, len(rendered))
	for _, o := range rendered {
		merged = append(merged, o.DeepCopy())
	}
	is := index(merged)
	for _, field := range fields {
		id := objectID{key: field.Object}
		if was[id] == nil || is[id] == nil || !restore(was[id].Object, is[id].Object, field.Path) {
			unknown = append(unknown, field)
		}
	}
	if len(unknown) > 0 {
		return nil, unknown
	}
	return merged, nil
}

// restore copies the scalar at a path. It does not where the path is another one by now: in a list that has grown or shrunk nobody knows
// which element was which.
func restore(from, to any, path []any) bool {
	for i, step := range path {
		was, is, replace := child(from, to, step)
		if replace == nil {
			return false
		}
		if last := i == len(path)-1; last && isScalar(was) {
			replace(was)
			return true
		}
		from, to = was, is
	}
	return false
}

// child goes a step down, and returns both values, and what replaces the second one; nil where there is no such step in both.
func child(from, to, step any) (was, is any, replace func(any)) {
	switch step := step.(type) {
	case string:
		source, _ := from.(map[string]any)
		target, isMap := to.(map[string]any)
		if was, found := source[step]; isMap && found {
			return was, target[step], func(value any) { target[step] = value }
		}
	case int:
		source, _ := from.([]any)
		target, _ := to.([]any)
		if len(source) == len(target) && step < len(source) {
			return source[step], target[step], func(value any) { target[step] = value }
		}
	}
	return nil, nil, nil
}

// Names returns the fields as texts, each once, the first of them at the most.
func Names(fields []Field, most int) (names []string, more int) {
	for _, f := range fields {
		if name := f.String(); !slices.Contains(names, name) {
			if len(names) == most {
				more++
				continue
			}
			names = append(names, name)
		}
	}
	return names, more
}
