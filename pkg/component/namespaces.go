package component

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

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
	e.namespaces.Watch(ownerID, observe.Reader{}, refs, wake)
}

// awaitOwners wakes an owner when objects that it wants don't belong to another one any more, as far as its watches show that, and lets others have
// what it neither has nor wants any more itself.
func (e *Engine) awaitOwners(f plan.Facts, decided plan.Plan) {
	e.observer.ReportOwned(f.Owner, func(key manifests.Key) bool {
		_, recorded := decided.Inventory[key]
		return recorded || slices.ContainsFunc(f.Desired, func(o manifests.Object) bool { return o.Key == key })
	})
	var holders map[manifests.Key]string
	for _, w := range decided.Waiting {
		if w.Reason != plan.WaitOwnershipConflict {
			continue
		}
		if holders == nil {
			holders = map[manifests.Key]string{}
		}
		holders[w.Key] = e.holder(f, w.Key)
	}
	e.observer.AwaitHandover(f.Owner, holders)
}

// holder returns which owner of this reconciler has an object, "" where it is none.
func (e *Engine) holder(f plan.Facts, key manifests.Key) string {
	live := f.Live.Of(key)
	if owner, ok := manifests.ParseOwner(live.OwnerName); !ok || owner.Reconciler != e.name {
		return ""
	}
	return live.Owner
}

// Forget ends the watches that serve an owner alone, and drops what is known of its guard and of repairs.
func (e *Engine) Forget(owner manifests.Owner) {
	e.observer.Release(owner.ID())
	e.namespaces.Release(owner.ID())
	e.lookups.Release(owner.ID())
	e.discovery.Unsubscribe(owner.ID())
	e.guards.forget(owner.ID())
	e.repairs.forget(owner.ID())
}
