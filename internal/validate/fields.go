package validate

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fieldNames returns the names of the fields of a path, without indexes and keys of lists: spec, list and port for
// spec.list[name="a.b"].port.
func fieldNames(path string) []string {
	var plain strings.Builder
	depth, quoted := 0, false
	for i, r := range path {
		switch {
		case r == '"' && depth > 0 && path[i-1] != '\\':
			quoted = !quoted
		case quoted:
		case r == '[':
			depth++
		case r == ']':
			depth--
		case depth == 0:
			plain.WriteRune(r)
		}
	}
	return strings.FieldsFunc(plain.String(), func(r rune) bool { return r == '.' })
}

// without returns a copy of an object without the fields of some paths; see fieldNames. A field of a list is removed
// from all items, which have the same type. removed is false if there is no such field, and then the result is the
// object itself.
func without(body *unstructured.Unstructured, paths [][]string) (copied *unstructured.Unstructured, removed bool) {
	if len(paths) == 0 {
		return body, false
	}
	copied = body.DeepCopy()
	for _, path := range paths {
		if len(path) > 0 && removeField(copied.Object, path) {
			removed = true
		}
	}
	if !removed {
		return body, false
	}
	return copied, true
}

func removeField(value any, names []string) (removed bool) {
	switch value := value.(type) {
	case map[string]any:
		next, exists := value[names[0]]
		if len(names) > 1 {
			return removeField(next, names[1:])
		}
		delete(value, names[0])
		return exists
	case []any:
		for _, item := range value {
			removed = removeField(item, names) || removed
		}
	}
	return removed
}

// related reports whether one of two paths contains the other one.
func related(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}
