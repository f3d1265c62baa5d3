package typeset

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// DefinedBy returns the types that a CustomResourceDefinition or an APIService defines.
func DefinedBy(obj *unstructured.Unstructured) []manifests.ManagedType {
	switch obj.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "kind")
		if group != "" && kind != "" {
			return []manifests.ManagedType{{GroupKind: schema.GroupKind{Group: group, Kind: kind}}}
		}
	case schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}:
		group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
		_, aggregated, _ := unstructured.NestedMap(obj.Object, "spec", "service")
		if group != "" && aggregated {
			return []manifests.ManagedType{{GroupKind: schema.GroupKind{Group: group, Kind: "*"}}}
		}
	}
	return nil
}
