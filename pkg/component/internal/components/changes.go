package components

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// NeedsPass reports whether a change of a component from before to after needs a pass: a changed spec, a deletion,
// added or removed finalizers of other controllers, the loss of the reconciler's own finalizer, or damage to the
// inventory record. The reconciler's own writes of the status need no pass.
func NeedsPass(before, after client.Object, finalizer string) bool {
	return !SameRequest(before, after) ||
		!slices.Equal(OtherFinalizers(before, finalizer), OtherFinalizers(after, finalizer)) ||
		controllerutil.ContainsFinalizer(before, finalizer) && !controllerutil.ContainsFinalizer(after, finalizer) ||
		!Damaged(before, finalizer) && Damaged(after, finalizer)
}

// Damaged reports whether the inventory record of a component is lost or was edited, as far as its status shows. It
// returns false for objects that are not components.
func Damaged(obj client.Object, finalizer string) bool {
	component, ok := obj.(Object)
	if !ok {
		return false
	}
	status := component.GetStatus()
	if status.Reconciler == "" && controllerutil.ContainsFinalizer(component, finalizer) {
		return true
	}
	if status.HasInventoryRecord() {
		return len(status.Inventory) > 0 || status.InventoryDigest == ""
	}
	return InventoryDigest(status.Inventory) != status.InventoryDigest
}
