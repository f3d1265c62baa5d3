package publish

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// setSpec sets the source and fields of the spec. It removes fields whose value is nil.
func setSpec(obj *unstructured.Unstructured, fields map[string]any, source map[string]any) error {
	for name, value := range fields {
		if value == nil {
			unstructured.RemoveNestedField(obj.Object, "spec", name)
			continue
		}
		if err := unstructured.SetNestedField(obj.Object, runtime.DeepCopyJSONValue(value), "spec", name); err != nil {
			return err
		}
	}
	// A component has exactly one kind of source, so the ConfigMap replaces the whole source.
	return unstructured.SetNestedMap(obj.Object, source, "spec", "source")
}

func sameSpec(a, b *unstructured.Unstructured) bool {
	return equality.Semantic.DeepEqual(a.Object["spec"], b.Object["spec"])
}

// sourceNames returns the names of the ConfigMaps that are the component's source, and the digest of the archive if
// they hold its parts.
func sourceNames(obj *unstructured.Unstructured) (names []string, sha256 string) {
	if obj == nil {
		return nil, ""
	}
	if name, _, _ := unstructured.NestedString(obj.Object, "spec", "source", "configMap", "name"); name != "" {
		return []string{name}, ""
	}
	names, _, _ = unstructured.NestedStringSlice(obj.Object, "spec", "source", "configMaps", "names")
	sha256, _, _ = unstructured.NestedString(obj.Object, "spec", "source", "configMaps", "sha256")
	return names, sha256
}

// otherSource returns the common name of the ConfigMaps that are the component's source, empty if it has none, or the
// given one.
func otherSource(obj *unstructured.Unstructured, s stored) string {
	names, _ := sourceNames(obj)
	if len(names) == 0 {
		return ""
	}
	if group := groupOf(s.target.Name, names[0]); group != s.group() {
		return group
	}
	return ""
}
