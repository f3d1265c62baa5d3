package plan

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// IsOwnedNamespace reports whether an entry is that of a namespace which was created for the component because of the
// policy MissingNamespacesOwn. The entry is written before the namespace is created. It proves nothing: only the owner
// label, which is set by the request that creates the namespace, shows that the component created it.
func IsOwnedNamespace(e metav1alpha1.InventoryEntry) bool {
	return e.DeletePolicy == metav1alpha1.DeleteIfEmpty && IsNamespace(KeyOf(e))
}

// isNeededNamespace reports whether an entry is that of an owned namespace in which a desired object is.
func isNeededNamespace(e metav1alpha1.InventoryEntry, desired []manifests.Object) bool {
	return IsOwnedNamespace(e) &&
		slices.ContainsFunc(desired, func(o manifests.Object) bool { return o.Key.Namespace == e.Name })
}

// ownsNamespaces reports whether the namespaces that are created for the component belong to it. They do not if the
// component leaves its dependents in the cluster, because its namespaces then stay, too.
func (f Facts) ownsNamespaces() bool {
	policy := DefaultDeletePolicy(f.Defaults.Reconcile, f.Defaults.Delete)
	return f.Defaults.MissingNamespaces == metav1alpha1.MissingNamespacesOwn &&
		(policy == "" || policy == metav1alpha1.DeleteDelete)
}

// isReserved reports whether a namespace is one of Kubernetes, which no component owns. Kubernetes reserves the names
// that begin with kube-.
func isReserved(key manifests.Key) bool {
	return key.Name == metav1.NamespaceDefault || strings.HasPrefix(key.Name, "kube-")
}

// recordNamespaces adds the entries of the owned namespaces that the plan creates. An entry must be written before its
// namespace is created.
func (p *Plan) recordNamespaces() {
	for _, a := range p.Actions {
		if a.Verb != VerbCreateNamespace || a.OwnerName == "" || IsOwnedNamespace(p.Inventory[a.Key]) {
			continue
		}
		p.WriteInventory = true
		p.Inventory[a.Key] = metav1alpha1.InventoryEntry{
			Version: a.Version, Kind: a.Key.Kind, Name: a.Key.Name, DeletePolicy: metav1alpha1.DeleteIfEmpty,
		}
	}
}

// followNamespaces updates the entries of the owned namespaces. The entry of a namespace without our label is dropped,
// because another client created the namespace, or removed the label. The entry of a namespace whose creation was
// refused is dropped, too, so that the deletion of the component needs no rights on it. If the policies of the component
// do not own namespaces any more, they are released when dependents are pruned. A namespace that is desired is a
// dependent from then on.
func (p *Plan) followNamespaces(f Facts) {
	for key, e := range p.Inventory {
		if !IsOwnedNamespace(e) || slices.ContainsFunc(f.Desired, func(o manifests.Object) bool { return o.Key == key }) {
			continue
		}
		live, creation := f.LiveOf(key), f.Results[key]
		switch {
		case live.Presence == Present && live.Owner != f.Owner,
			live.Presence != Present && creation.Verb == VerbCreateNamespace && creation.isRefused():
			delete(p.Inventory, key)
			continue
		case live.Presence == Present:
			e.UID = live.UID
		}
		if !f.ownsNamespaces() {
			e.DeletePolicy = metav1alpha1.DeleteOrphan
		}
		p.Inventory[key] = e
	}
}

// isRefused reports whether the API server refused an action, so that the action had no effect.
func (r Result) isRefused() bool { return r.Failure != nil && r.Failure.Class == Terminal }

// ofOwnedNamespace returns the removal of an owned namespace. The namespace is deleted only if nothing in it belongs to
// others. In all doubtful cases it is released, and does not block the deletion of the component: the objects in it
// are of no concern to the component.
func (r removal) ofOwnedNamespace(f Facts) removal {
	if r.reason == ReasonPruned {
		r.reason = ReasonUnneeded
	}
	if r.live.Presence == Absent && r.result.Verb == VerbRead && r.result.isRefused() {
		// The watch shows no namespace with our label. If there is one without it, the namespace is not ours anyway.
		r.live.Confirmed, r.result.Failure = true, nil
		return r
	}
	switch others := otherUsers(r.live); {
	case !f.ownsNamespaces():
		r.kept = "missingNamespacesPolicy is not own any more, or deletePolicy is not delete"
	case len(others) > 0:
		r.kept = "other clients changed it (managed by: " + strings.Join(others, ", ") + ")"
	case r.result.Verb == VerbDelete && r.result.isRefused():
		r.kept, r.result.Failure = "it could not be deleted: "+r.result.Failure.Message, nil
	case r.contents.Count > 0:
		r.kept = "it contains objects of others" + counted(r.contents)
	case r.contents.Failure != nil && r.contents.Failure.Class == Terminal:
		r.kept = r.contents.Failure.Message
	case r.contents.Failure != nil:
		failure := *r.contents.Failure
		failure.Message += "; to keep the namespace, set missingNamespacesPolicy to create"
		r.contents.Failure = &failure
	}
	return r
}

// platformManagers are the field managers of controllers that mark every namespace of an OpenShift or Rancher cluster.
var platformManagers = []string{
	"cluster-policy-controller", "pod-security-admission-label-synchronization-controller", "rancher",
}

// otherUsers returns the field managers of a namespace that show that somebody else uses it.
func otherUsers(live Observed) []string {
	return slices.DeleteFunc(slices.Clone(live.Managers), func(manager string) bool {
		return slices.Contains(platformManagers, manager)
	})
}
