package components

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// NeedsPass reports whether a change of a component from before to after needs a pass: a changed spec, a deletion,
// added or removed finalizers of other controllers, the loss of the reconciler's own finalizer, or damage to the
// inventory record. The reconciler's own writes of the status need no pass.
func NeedsPass(before, after client.Object, ours Finalizers) bool {
	return !SameRequest(before, after) ||
		!slices.Equal(ours.Others(before), ours.Others(after)) ||
		ours.Holds(before) && !ours.Holds(after) ||
		Damaged(after, ours) && (!Damaged(before, ours) || BecomesReady(before, after))
}

// BecomesReady reports whether the status of a component says that it is ready, and did not say so before. While its
// record is damaged, only another client writes such a status.
func BecomesReady(before, after client.Object) bool {
	isReady := func(obj client.Object) bool {
		component, ok := obj.(Object)
		return ok && meta.IsStatusConditionTrue(component.GetStatus().Conditions, metav1alpha1.ConditionReady)
	}
	return isReady(after) && !isReady(before)
}

// Damaged reports whether the inventory record of a component is lost, was edited, or must not be believed for another
// reason (see Doubt), as far as its status shows. It returns false for objects that are not components.
func Damaged(obj client.Object, ours Finalizers) bool {
	component, ok := obj.(Object)
	if !ok {
		return false
	}
	status := component.GetStatus()
	if status.Reconciler == "" && ours.Holds(component) {
		return true
	}
	if Doubt(status) != "" {
		return true
	}
	if isDropped(status) {
		return false // A damaged inventory stays in the cache.
	}
	if status.HasInventoryRecord() {
		return len(status.Inventory) > 0 || status.InventoryDigest == ""
	}
	return InventoryDigest(status.Inventory) != status.InventoryDigest
}
