package applier

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// awaitNamespaces watches the namespaces that dependents wait for, because the namespaces do not exist or are being
// deleted. A watch event on such a namespace calls wake. If no dependent waits for a namespace, awaitNamespaces ends
// these watches.
func awaitNamespaces(client *target.Client, ownerID string, waiting []plan.Waiting, wake func()) {
	names := map[string]bool{}
	for _, w := range waiting {
		if w.Reason == plan.WaitNamespaceMissing || w.Reason == plan.WaitNamespaceTerminating {
			names[w.Key.Namespace] = true
		}
	}
	if len(names) == 0 {
		client.Namespaces.Release(ownerID)
		return
	}
	var refs []observe.Reference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		refs = append(
			refs,
			observe.Reference{Resource: corev1.SchemeGroupVersion.WithResource("namespaces"), Name: name},
		)
	}
	client.Namespaces.Watch(ownerID, observe.Reader{}, refs, wake)
}

// awaitAbsent watches the objects that the component never creates, and that do not exist. Only their metadata is
// watched, with the identity of the component. A watch event on such an object calls wake. awaitAbsent returns the
// types that cannot be watched, also those of the objects that the component only observes, which are watched already.
func awaitAbsent(
	client *target.Client, ownerID string, waiting []plan.Waiting, observed plan.Snapshot, wake func(),
) (unwatched []result.Unwatched) {
	var refs []observe.Reference
	for _, w := range waiting {
		if w.Reason != plan.WaitAbsent || observed[w.Key] != nil || w.Key.IsExternal() {
			continue
		}
		mapping, err := client.Discovery.Mapper().RESTMapping(w.Key.GroupKind())
		if err != nil {
			unwatched = append(unwatched, result.Unwatched{Type: w.Key.GroupKind().String(), Message: err.Error()})
			continue
		}
		refs = append(refs, observe.Reference{Resource: mapping.Resource, Namespace: w.Key.Namespace, Name: w.Key.Name})
	}
	if len(refs) == 0 {
		client.Awaited.Release(ownerID)
	} else {
		client.Awaited.Watch(ownerID, client.Reader, refs, wake)
	}
	for _, name := range []string{ownerID, observe.ObservedBy(ownerID)} {
		_, failed := client.Awaited.Changed(name)
		for ref, message := range failed {
			unwatched = append(unwatched, result.Unwatched{Type: ref.Resource.GroupResource().String(), Message: message})
		}
	}
	return unwatched
}

// awaitOwners makes the Observer start a pass over the component when another owner gives up an object that the
// component waits for. awaitOwners also reports to the Observer which objects the component renders or has in its
// inventory. The component has given up all other objects, so another owner may take them over.
func awaitOwners(client *target.Client, reconciler string, f plan.Facts, decided plan.Plan) {
	client.Observer.ReportOwned(f.Owner, func(key manifests.Key) bool {
		_, recorded := decided.Inventory[key]
		return recorded || slices.ContainsFunc(f.Desired, func(o manifests.Object) bool { return o.Key == key })
	})
	var holders map[manifests.Key]observe.Owner
	for _, w := range decided.Waiting {
		if w.Reason != plan.WaitOwnershipConflict {
			continue
		}
		if holders == nil {
			holders = map[manifests.Key]observe.Owner{}
		}
		holders[w.Key] = ownerOf(f.LiveOf(w.Key), reconciler)
	}
	client.Observer.AwaitHandover(f.Owner, holders)
}

// ownerOf returns the owner of an object that another component of the reconciler owns; the result is zero for other
// objects.
func ownerOf(live plan.Observed, reconciler string) observe.Owner {
	if owner, ok := manifests.ParseOwner(live.OwnerName); !ok || owner.Reconciler != reconciler {
		return observe.Owner{}
	}
	return observe.Owner{ID: live.Owner, Name: live.OwnerName}
}
