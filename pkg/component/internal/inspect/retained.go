package inspect

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kept returns the fields of ours that the API server keeps when they are left out, although they cannot change. Only Services have such a
// field: clusterIP is copied from the old object.
func retained(obj *unstructured.Unstructured, reconciler string) []string {
	if obj.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Service"}) {
		return nil
	}
	for _, operation := range []metav1.ManagedFieldsOperationType{metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate} {
		spec, _ := Entry(obj.GetManagedFields(), reconciler, operation)["f:spec"].(map[string]any)
		if _, ours := spec["f:clusterIP"]; ours {
			return []string{"spec.clusterIP"}
		}
	}
	return nil
}

// addName adds to a few names.
func addName(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}
