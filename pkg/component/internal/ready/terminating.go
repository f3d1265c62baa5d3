package ready

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Deleting is the message about an object that is being deleted, and that no finalizer of a controller holds.
const Deleting = "it is being deleted"

// BeingDeleted returns the readiness of an object that is being deleted. The message names the finalizers of
// controllers, which hold the object. It leaves out the finalizers of the garbage collection.
func BeingDeleted(obj metav1.Object) Result {
	finalizers := slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(name string) bool {
		return name == metav1.FinalizerDeleteDependents || name == metav1.FinalizerOrphanDependents
	})
	message := Deleting
	if len(finalizers) > 0 {
		slices.Sort(finalizers)
		message += "; it is gone when other controllers have removed their finalizers: " + strings.Join(finalizers, ", ")
	}
	return Result{State: Terminating, Message: message}
}
