package publish

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// setSpec sets the source and fields of the spec. It removes fields whose value is nil.
func (r Request) setSpec(obj *unstructured.Unstructured, source map[string]any) error {
	if err := setAdopt(obj, r.Adopt); err != nil {
		return err
	}
	for name, value := range r.Fields {
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

// setAdopt adds entries to spec.adopt, without those that it has already. An object that does not exist yet gets a list
// also if there are no entries. The list of an existing object stays as it is then.
func setAdopt(obj *unstructured.Unstructured, entries []metav1alpha1.AdoptRule) error {
	if len(entries) == 0 && obj.GetUID() != "" {
		return nil
	}
	list, _, err := unstructured.NestedSlice(obj.Object, "spec", "adopt")
	if err != nil {
		return err
	}
	if list == nil {
		list = []any{}
	}
	for _, entry := range entries {
		added, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&entry)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(list, func(have any) bool { return equality.Semantic.DeepEqual(have, any(added)) }) {
			list = append(list, added)
		}
	}
	return unstructured.SetNestedSlice(obj.Object, list, "spec", "adopt")
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
