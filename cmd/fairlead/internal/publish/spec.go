package publish

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// setSpec sets the source and fields of the spec. It removes fields whose value is nil.
func setSpec(obj *unstructured.Unstructured, fields map[string]any, source string) error {
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
	return unstructured.SetNestedMap(obj.Object, map[string]any{"configMap": map[string]any{"name": source}}, "spec",
		"source")
}

func sameSpec(a, b *unstructured.Unstructured) bool {
	return equality.Semantic.DeepEqual(a.Object["spec"], b.Object["spec"])
}

// otherSource returns the name of the ConfigMap that is the component's source. It returns an empty text if the name is
// source, or if the source is no ConfigMap.
func otherSource(obj *unstructured.Unstructured, source string) string {
	if obj == nil {
		return ""
	}
	name, _, err := unstructured.NestedString(obj.Object, "spec", "source", "configMap", "name")
	if err != nil || name == source {
		return ""
	}
	return name
}
