package componentroles

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Resources returns a function that returns the resource of a type. The resource is in a definition among the objects,
// or in the mapper, which may be nil. Otherwise the function derives the resource from the kind. This is correct for
// built-in types. For other types, the function calls guessed.
func Resources(
	objects []manifests.Object, mapper meta.RESTMapper, guessed func(schema.GroupVersionKind),
) func(schema.GroupVersionKind) string {
	defined := map[schema.GroupKind]string{}
	for _, o := range objects {
		if o.Key.GroupKind() != (schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) {
			continue
		}
		group, _, _ := unstructured.NestedString(o.Body.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(o.Body.Object, "spec", "names", "kind")
		defined[schema.GroupKind{Group: group, Kind: kind}], _,
			_ = unstructured.NestedString(o.Body.Object, "spec", "names", "plural")
	}
	return func(gvk schema.GroupVersionKind) string {
		if plural := defined[gvk.GroupKind()]; plural != "" {
			return plural
		}
		if mapper != nil {
			if mapping, err := mapper.RESTMapping(gvk.GroupKind()); err == nil {
				return mapping.Resource.Resource
			}
		}
		if !ofKubernetes(gvk.GroupKind()) {
			guessed(gvk)
		}
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		return plural.Resource
	}
}

func ofKubernetes(gk schema.GroupKind) bool {
	return len(clientgoscheme.Scheme.VersionsForGroupKind(gk)) > 0 || gk.Group == "apiextensions.k8s.io" ||
		gk.Group == "apiregistration.k8s.io"
}
