package inspect

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/fieldset"
	"github.com/fairlead-io/fairlead/internal/marks"
)

// isHeld reports whether the reconciler writes an object without an owner for itself: a record, the guard of a
// definition, or an object of somebody else that only has one of our finalizers, such as a component or a Secret with a
// kubeconfig. Our managed fields of such an object do not show that it is a dependent, so an entry that another client
// writes into a record cannot delete it.
func isHeld(obj metav1.Object, reconciler string) bool {
	labels := obj.GetLabels()
	for _, label := range []string{marks.LabelHeld, marks.LabelGuardOf} {
		if _, found := labels[reconciler+"/"+label]; found {
			return true
		}
	}
	held := false
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager != reconciler || entry.Subresource != "" {
			continue
		}
		if entry.FieldsV1 == nil || !isFinalizerOnly(fieldset.Decode(entry.FieldsV1)) {
			return false
		}
		held = true
	}
	return held
}

// isFinalizerOnly reports whether fields, in the form of FieldsV1, contain nothing but finalizers.
func isFinalizerOnly(fields map[string]any) bool {
	metadata, ok := fields["f:metadata"].(map[string]any)
	if !ok || len(fields) != 1 {
		return false
	}
	for name := range metadata {
		if name != "f:finalizers" && name != "." {
			return false
		}
	}
	return true
}
