package ready

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Deleting is the message about an object that is being deleted, and that no finalizer holds.
const Deleting = "it is being deleted"

// holders says why an object has a finalizer of Kubernetes itself.
var holders = map[string]string{
	"kubernetes.io/pvc-protection": "a pod uses the claim",
	"kubernetes.io/pv-protection":  "a claim is bound to the volume",
}

// BeingDeleted returns the readiness of an object that is being deleted. The message names the finalizers of
// controllers, which hold the object, or says that the garbage collection deletes other objects before it.
func BeingDeleted(obj metav1.Object) Result {
	finalizers := slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(name string) bool {
		return name == metav1.FinalizerDeleteDependents || name == metav1.FinalizerOrphanDependents
	})
	message := Deleting
	if slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		message += "; the objects that it owns, such as pods, are deleted before it"
	}
	if len(finalizers) > 0 {
		slices.Sort(finalizers)
		for i, name := range finalizers {
			if why, known := holders[name]; known {
				finalizers[i] = name + " (" + why + ")"
			}
		}
		message += "; the deletion ends when other controllers have removed their finalizers: " +
			strings.Join(finalizers, ", ")
	}
	return Result{State: Terminating, Message: message}
}
