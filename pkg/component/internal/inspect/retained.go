package inspect

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// retained returns our fields whose values the API server retains when an update leaves them out, because they cannot
// change. The only such field is clusterIP of Services: the API server copies it from the old object.
func retained(obj *unstructured.Unstructured, reconciler string) []string {
	if obj.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Service"}) {
		return nil
	}
	operations := []metav1.ManagedFieldsOperationType{
		metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate,
	}
	for _, operation := range operations {
		spec, _ := Entry(obj.GetManagedFields(), reconciler, operation)["f:spec"].(map[string]any)
		if _, ours := spec["f:clusterIP"]; ours {
			return []string{"spec.clusterIP"}
		}
	}
	return nil
}

// addName adds a name to a short list, unless the list has the name already.
func addName(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}
