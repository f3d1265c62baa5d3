package inspect

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/fieldset"
)

// Shape returns the union of the fields of all managers, in the form of FieldsV1. This union shows how the API server
// divides an object into fields.
func Shape(managed []metav1.ManagedFieldsEntry) map[string]any {
	shape := map[string]any{}
	for _, e := range managed {
		if e.FieldsV1 != nil {
			fieldset.Unite(shape, fieldset.Decode(e.FieldsV1))
		}
	}
	return shape
}

// FieldsOf returns the fields that a manifest sets, in the form of FieldsV1. Fields that the shape does not have are
// left out.
func FieldsOf(manifest, shape map[string]any) map[string]any {
	content := make(map[string]any, len(manifest))
	for name, value := range manifest {
		switch name {
		case "apiVersion", "kind":
		case "metadata":
			content[name] = withoutIdentity(value)
		default:
			content[name] = value
		}
	}
	return fieldsOfMap(content, shape)
}

func withoutIdentity(metadata any) any {
	m, ok := metadata.(map[string]any)
	if !ok {
		return metadata
	}
	out := make(map[string]any, len(m))
	for name, value := range m {
		if name != "name" && name != "namespace" {
			out[name] = value
		}
	}
	return out
}

func fieldsOfMap(value, shape map[string]any) map[string]any {
	fields := map[string]any{}
	if _, ok := shape["."]; ok {
		fields["."] = map[string]any{}
	}
	for name, child := range value {
		node, ok := shape["f:"+name].(map[string]any)
		if !ok || isEmpty(child) {
			continue
		}
		// An empty node means all fields below it. So an empty node is added only if the shape also has an empty node
		// here.
		if below := fieldsOfValue(child, node); len(below) > 0 || len(node) == 0 {
			fields["f:"+name] = below
		}
	}
	return fields
}

func fieldsOfValue(value any, shape map[string]any) map[string]any {
	if len(shape) == 0 {
		return map[string]any{}
	}
	switch v := value.(type) {
	case map[string]any:
		return fieldsOfMap(v, shape)
	case []any:
		fields := map[string]any{}
		for _, item := range v {
			for _, element := range fieldset.Elements(shape) {
				if fieldset.Matches(item, element) {
					node, _ := shape[element].(map[string]any)
					fields[element] = fieldsOfValue(item, node)
					break
				}
			}
		}
		return fields
	}
	return map[string]any{}
}
