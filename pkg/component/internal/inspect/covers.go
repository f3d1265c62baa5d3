package inspect

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/fieldset"
)

// covers reports whether a set of fields, in the form of FieldsV1, has every field that a manifest sets.
func covers(manifest map[string]any, fields map[string]any) bool {
	for name, value := range manifest {
		switch name {
		case "apiVersion", "kind":
			continue
		case "metadata":
			metadata, _ := value.(map[string]any)
			node, _ := fields["f:metadata"].(map[string]any)
			if !coversMap(metadata, node, "name", "namespace") {
				return false
			}
		default:
			if !coversField(value, fields["f:"+name]) {
				return false
			}
		}
	}
	return true
}

func coversMap(value, node map[string]any, except ...string) bool {
	for name, child := range value {
		if !slices.Contains(except, name) && !coversField(child, node["f:"+name]) {
			return false
		}
	}
	return true
}

// coversField reports whether a node of FieldsV1 contains all fields of a value. An empty value contains no fields.
func coversField(value, node any) bool {
	if isEmpty(value) {
		return true
	}
	children, ok := node.(map[string]any)
	if !ok {
		return false
	}
	if len(children) == 0 {
		return true
	}
	switch v := value.(type) {
	case map[string]any:
		return coversMap(v, children)
	case []any:
		for _, item := range v {
			if !coversItem(item, children) {
				return false
			}
		}
	}
	return true
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// coversItem reports whether the FieldsV1 node of a list contains all fields of an item of the list.
func coversItem(item any, children map[string]any) bool {
	fields, ok := item.(map[string]any)
	if !ok {
		_, owned := children[fieldset.ValueElement(item)]
		return owned
	}
	for key, node := range children {
		if !fieldset.Matches(fields, key) {
			continue
		}
		if coversField(fields, node) {
			return true
		}
	}
	return false
}

// project returns the parts of a live value that the manifest sets. Lists of the same length are reduced item by item.
// Other lists are returned as a whole.
func project(live, manifest any) any {
	switch m := manifest.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return live
		}
		out := make(map[string]any, len(m))
		for name, value := range m {
			if !isEmpty(value) {
				out[name] = project(l[name], value)
			}
		}
		return out
	case []any:
		l, ok := live.([]any)
		if !ok || len(l) != len(m) {
			return live
		}
		out := make([]any, len(l))
		for i := range l {
			out[i] = project(l[i], m[i])
		}
		return out
	}
	return live
}
