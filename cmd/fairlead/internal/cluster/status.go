package cluster

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

// Status decodes the status of a component. For types other than Component, it returns an error if the status lacks the
// fields of a component's status: then the object is not a component, or no operator has reconciled it yet.
func Status(target Target, obj *unstructured.Unstructured) (metav1alpha1.Status, error) {
	status, err := decodeStatus(target, obj)
	if err == nil && !target.IsReadyMade() && !isOurs(status) {
		return status, foreign(target)
	}
	return status, err
}

// StatusIfAny is like Status, but returns an empty status for an object without a status.
func StatusIfAny(target Target, obj *unstructured.Unstructured) (metav1alpha1.Status, error) {
	if _, seen := obj.Object["status"]; !seen {
		return metav1alpha1.Status{}, nil
	}
	return Status(target, obj)
}

func decodeStatus(target Target, obj *unstructured.Unstructured) (metav1alpha1.Status, error) {
	var status metav1alpha1.Status
	fields, _, err := unstructured.NestedMap(obj.Object, "status")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &status)
	}
	if err != nil {
		return status, exit.Refuse("%s does not have the status of a component: %w", target, err)
	}
	return status, nil
}

// isOurs reports whether a status contains fields that only statuses of components have.
func isOurs(s metav1alpha1.Status) bool {
	return s.Reconciler != "" || s.InputDigest != "" || len(s.Inventory) > 0 || s.InventoryRecord != nil ||
		s.State != "" && len(s.Conditions) > 0
}

func foreign(target Target) error {
	return exit.Refuse("%s does not have the status of a component: either %s is not a type of components, or no "+
		"operator has reconciled it yet",
		target, target.Mapping.Resource.GroupResource())
}
