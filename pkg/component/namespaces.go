package component

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// awaitNamespaces wakes an owner when something becomes of the namespaces that its dependents could not be created in: they don't exist, or
// are being deleted. As long as there are such ones, the metadata of namespaces is watched.
func (e *Engine) awaitNamespaces(ownerID string, waiting []plan.Waiting, wake func()) {
	names := map[string]bool{}
	for _, w := range waiting {
		if w.Reason == plan.WaitNamespaceMissing || w.Reason == plan.WaitNamespaceTerminating {
			names[w.Key.Namespace] = true
		}
	}
	if len(names) == 0 {
		e.namespaces.Release(ownerID)
		return
	}
	var refs []observe.Reference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		refs = append(refs, observe.Reference{Resource: corev1.SchemeGroupVersion.WithResource("namespaces"), Name: name})
	}
	e.namespaces.Retain(ownerID, observe.Viewer{}, refs, wake)
}

// awaitOwners wakes an owner when objects that it wants don't belong to somebody else any more, as far as its watches show that.
func (e *Engine) awaitOwners(f plan.Facts, waiting []plan.Waiting) {
	var keys map[manifests.Key]bool
	for _, w := range waiting {
		if w.Reason != metav1alpha1.ReasonOwnershipConflict {
			continue
		}
		if keys == nil {
			keys = map[manifests.Key]bool{}
		}
		keys[w.Key] = f.Results[w.Key].Observed == nil
	}
	e.observer.Await(f.Owner, keys)
}

// Forget ends the watches that serve an owner alone, and drops what is known of its guard and of repairs.
func (e *Engine) Forget(owner manifests.Owner) {
	e.observer.Release(owner.ID())
	e.namespaces.Release(owner.ID())
	e.lookups.Release(owner.ID())
	e.serving.release(owner.ID())
	e.guards.forget(owner.ID())
	e.repairs.forget(owner.ID())
}
