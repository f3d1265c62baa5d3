package determinism

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Merge returns a copy of a rendering in which some fields have the values of an earlier rendering. If the earlier
// rendering contains no value for some of the fields, for example in a new object, Merge returns these fields and no
// rendering. It does not mix the values of two renderings, because they may not fit together, such as a certificate and
// a private key. The arguments are not changed.
func Merge(
	earlier, rendered []*unstructured.Unstructured, fields []Field,
) (merged []*unstructured.Unstructured, unknown []Field) {
	if merged, unknown = Fill(earlier, rendered, fields); len(unknown) > 0 {
		return nil, unknown
	}
	return merged, nil
}

// Fill returns a copy of a rendering in which some fields have the values of earlier objects. The fields for which the
// earlier objects have no value are returned as unknown, and keep the values of the rendering.
func Fill(
	earlier, rendered []*unstructured.Unstructured, fields []Field,
) (filled []*unstructured.Unstructured, unknown []Field) {
	return fill(earlier, rendered, fields, func(any, any) bool { return true })
}

// FillAlike is Fill for earlier objects that nobody vouches for. It copies a value only if it has the same type as the
// value of the rendering, so that no field becomes null, for example.
func FillAlike(
	earlier, rendered []*unstructured.Unstructured, fields []Field,
) (filled []*unstructured.Unstructured, unknown []Field) {
	return fill(earlier, rendered, fields, func(was, is any) bool { return reflect.TypeOf(was) == reflect.TypeOf(is) })
}

// fill is Fill for the values that may be copied.
func fill(
	earlier, rendered []*unstructured.Unstructured, fields []Field, mayCopy func(was, is any) bool,
) (filled []*unstructured.Unstructured, unknown []Field) {
	was := index(earlier)
	filled = make([]*unstructured.Unstructured, 0, len(rendered))
	for _, o := range rendered {
		filled = append(filled, o.DeepCopy())
	}
	is := index(filled)
	for _, field := range fields {
		id := objectID{key: field.Object}
		if was[id] == nil || is[id] == nil || !restore(was[id].Object, is[id].Object, field.Path, mayCopy) {
			unknown = append(unknown, field)
		}
	}
	return filled, unknown
}

// restore copies the scalar at a path from one manifest to the other if mayCopy permits it, and reports whether it did.
// It copies nothing if a list on the path has different lengths in both manifests, because the same index may then
// identify a different element.
func restore(from, to any, path []any, mayCopy func(was, is any) bool) bool {
	for i, step := range path {
		was, is, replace := child(from, to, step)
		if replace == nil {
			return false
		}
		if last := i == len(path)-1; last && isScalar(was) && mayCopy(was, is) {
			replace(was)
			return true
		}
		from, to = was, is
	}
	return false
}

// child returns the values of both manifests at the next key or index of a path, and a function that replaces the
// second value. The function is nil if one of the manifests contains no value there.
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

// Names returns the fields as texts without duplicates. names contains at most the given number of texts, and more is
// the number of texts that are left out.
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
