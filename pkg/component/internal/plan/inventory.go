package plan

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Inventory is the record of dependents, by key.
//
// An object of a phase is applied only while the component is deleted, before (pre-delete) or after (post-delete) the
// other dependents are removed. The entry of such an object stays until the end of the component's deletion, because
// the entry shows which objects of the phase are still to be applied. Completed means that the phase is over for the
// object; Completed without a UID means that the object no longer exists either.
type Inventory map[manifests.Key]metav1alpha1.InventoryEntry

// KeyOf returns the key of an entry.
func KeyOf(e metav1alpha1.InventoryEntry) manifests.Key {
	return manifests.Key{Group: e.Group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}
}

// NewInventory returns an inventory with the entries.
func NewInventory(entries []metav1alpha1.InventoryEntry) Inventory {
	inv := make(Inventory, len(entries))
	for _, e := range entries {
		inv[KeyOf(e)] = e
	}
	return inv
}

// Sorted returns the entries in the order of their keys, so that equal inventories have the same record.
func (inv Inventory) Sorted() []metav1alpha1.InventoryEntry {
	list := make([]metav1alpha1.InventoryEntry, 0, len(inv))
	for _, key := range slices.SortedFunc(maps.Keys(inv), manifests.Key.Compare) {
		list = append(list, inv[key])
	}
	return list
}

// Removals returns the recorded dependents that are not desired. A namespace that was created for the component is not
// among them while a desired object is in it.
func Removals(inv Inventory, desired []manifests.Object) []metav1alpha1.InventoryEntry {
	wanted := make(map[manifests.Key]bool, len(desired))
	for _, o := range desired {
		wanted[o.Key] = true
	}
	var removals []metav1alpha1.InventoryEntry
	for key, e := range inv {
		if !wanted[key] && !isNeededNamespace(e, desired) {
			removals = append(removals, e)
		}
	}
	return removals
}

// ManagedTypes returns the types that recorded dependents define. Types that cannot be parsed are ignored: entries are
// validated when they are written.
func ManagedTypes(entries []metav1alpha1.InventoryEntry) []manifests.ManagedType {
	var types []manifests.ManagedType
	for _, e := range entries {
		for _, text := range e.Types {
			if t, err := manifests.ParseManagedType(text); err == nil {
				types = append(types, t)
			}
		}
	}
	return types
}

// IsNamespace reports whether an object is a namespace. When a namespace is deleted, Kubernetes deletes all objects in
// it.
func IsNamespace(key manifests.Key) bool {
	return key.GroupKind() == schema.GroupKind{Kind: "Namespace"}
}

// IsDefinition reports whether an object is a custom resource definition. Kubernetes deletes all instances with their
// definition.
func IsDefinition(key manifests.Key) bool { return key.GroupKind() == CustomResourceDefinition }

// isPermanent reports whether an object is a namespace whose deletion every API server refuses.
func isPermanent(key manifests.Key) bool {
	return IsNamespace(key) && slices.Contains(permanent, key.Name)
}

// permanent are the namespaces of the admission plugin NamespaceLifecycle.
var permanent = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic}

// IsClaim reports whether an object is a PersistentVolumeClaim. The deletion of a claim may delete data.
func IsClaim(key manifests.Key) bool {
	return key.GroupKind() == claimKind
}

// RecordedDeletePolicy returns the delete policy for the entry of an object: own, the policy in its manifest, or
// fallback if own is empty. PersistentVolumeClaims hold data, so they are orphaned unless own is delete. For all other
// objects the entry has an empty string for the policy delete, to keep the inventory small.
func RecordedDeletePolicy(key manifests.Key, own, fallback metav1alpha1.DeletePolicy) metav1alpha1.DeletePolicy {
	if IsClaim(key) {
		if own == metav1alpha1.DeleteDelete {
			return own
		}
		return metav1alpha1.DeleteOrphan
	}
	if own == "" {
		own = fallback
	}
	if own == metav1alpha1.DeleteDelete {
		return ""
	}
	return own
}

// DefaultDeletePolicy returns the delete policy of an object whose manifest sets none. The policy is orphan if the
// reconcile policy of the object is update-only, because the component did not create such an object. Otherwise it is
// fallback.
func DefaultDeletePolicy(
	reconcile metav1alpha1.ReconcilePolicy, fallback metav1alpha1.DeletePolicy,
) metav1alpha1.DeletePolicy {
	if reconcile == metav1alpha1.ReconcileUpdateOnly {
		return metav1alpha1.DeleteOrphan
	}
	return fallback
}

// Orphans reports whether a recorded object is orphaned instead of deleted when it is removed for the given reason. The
// recorded policy decides, not the current manifest or defaults. If this version does not know the policy, the object
// is orphaned. A purge ignores the policy and deletes the object. A PersistentVolumeClaim is always orphaned unless its
// policy is delete, even by a purge. A namespace that Kubernetes never deletes is always orphaned.
func Orphans(e metav1alpha1.InventoryEntry, reason Reason) bool {
	switch {
	case IsClaim(KeyOf(e)):
		return e.DeletePolicy != metav1alpha1.DeleteDelete
	case isPermanent(KeyOf(e)):
		return true
	case reason == ReasonPurged:
		return false
	}
	switch e.DeletePolicy {
	case "", metav1alpha1.DeleteDelete:
		return false
	case metav1alpha1.DeleteOrphanOnApply:
		return reason == ReasonPruned || reason == ReasonExcluded
	case metav1alpha1.DeleteOrphanOnDelete:
		return reason == ReasonDeleted
	case metav1alpha1.DeleteIfEmpty:
		return !IsOwnedNamespace(e)
	case metav1alpha1.DeleteOrphan:
	}
	return true
}

// drop removes the entry of an object that no longer exists. The entry of an object of a phase stays, so that the
// object is not applied again.
func (inv Inventory) drop(e metav1alpha1.InventoryEntry) {
	if e.Phase == "" {
		delete(inv, KeyOf(e))
		return
	}
	e.UID, e.Completed = "", true
	inv[KeyOf(e)] = e
}

// existing returns the entries of objects that may exist, and whose phase matches.
func (inv Inventory) existing(matches func(manifests.Phase) bool) []metav1alpha1.InventoryEntry {
	var found []metav1alpha1.InventoryEntry
	for _, e := range inv {
		if !hasEndedPhase(e) && matches(manifests.Phase(e.Phase)) {
			found = append(found, e)
		}
	}
	return found
}

func inAnyPhase(manifests.Phase) bool { return true }

// notPostDelete matches ordinary dependents and objects of the phase pre-delete, which are deleted together.
func notPostDelete(phase manifests.Phase) bool { return phase != manifests.PhasePostDelete }

// previousDependents returns the entries of those objects that are ordinary dependents in the inventory, although they
// now belong to a phase. An object with such an entry is removed first, so that it is created again and runs again in
// the phase. It is deleted even if its delete policy keeps it, because an object that was released would belong to
// somebody else; keepsEntry decides which objects are not removed.
func (inv Inventory) previousDependents(objects []manifests.Object) []metav1alpha1.InventoryEntry {
	var found []metav1alpha1.InventoryEntry
	for i, o := range objects {
		if e, recorded := inv[o.Key]; recorded && e.Phase == "" && !keepsEntry(e, &objects[i]) {
			e.DeletePolicy = metav1alpha1.DeleteDelete
			found = append(found, e)
		}
	}
	return found
}

// moveKept moves the entries of kept dependents to a phase; see keepsEntry. It reports whether it moved any.
func (inv Inventory) moveKept(phase manifests.Phase, objects []manifests.Object) (moved bool) {
	for i, o := range objects {
		if e := inv[o.Key]; keepsEntry(e, &objects[i]) {
			e.Phase, moved = string(phase), true
			inv[o.Key] = e
		}
	}
	return moved
}

// dropPreviousPhase drops the entries of objects that completed another phase and no longer exist, so that they are
// applied again in this phase.
func (inv Inventory) dropPreviousPhase(phase manifests.Phase, objects []manifests.Object) {
	for _, o := range objects {
		if e := inv[o.Key]; e.Phase != string(phase) && hasEndedPhase(e) {
			delete(inv, o.Key)
		}
	}
}

// retryFailed drops the entries of objects that were deleted because they failed, if a pass was requested after that.
// So these objects are applied again. An object that still exists stays failed.
func (inv Inventory) retryFailed(f Facts, objects []manifests.Object) {
	for _, o := range objects {
		if e := inv[o.Key]; e.Failed != "" && e.Trigger != f.Trigger && f.Live.Of(o.Key).Presence == Absent {
			delete(inv, o.Key)
		}
	}
}

// skipped returns the objects of phases that could not be applied, in the order of their keys.
func (inv Inventory) skipped() []manifests.Key {
	var found []manifests.Key
	for key, e := range inv {
		if isSkipped(e) {
			found = append(found, key)
		}
	}
	slices.SortFunc(found, manifests.Key.Compare)
	return found
}

// isSkipped reports whether an entry is about an object of a phase that could not be applied.
func isSkipped(e metav1alpha1.InventoryEntry) bool {
	return e.Phase != "" && e.Completed && e.UID == "" && e.Digest == ""
}

// hasEndedPhase reports whether a recorded object completed its deletion phase and no longer exists.
func hasEndedPhase(e metav1alpha1.InventoryEntry) bool {
	return e.Phase != "" && e.Completed && e.UID == ""
}

// isPhaseOver reports whether a phase is over for a recorded object. An object that belongs to both phases, and is
// recorded for post-delete, has completed pre-delete.
func isPhaseOver(e metav1alpha1.InventoryEntry, phase manifests.Phase) bool {
	if phase == manifests.PhasePreDelete && manifests.Phase(e.Phase) == manifests.PhasePostDelete {
		return true
	}
	return e.Completed && e.Phase == string(phase)
}

// clearGuarded notes that no definition is guarded.
func (inv Inventory) clearGuarded() {
	for key, e := range inv {
		e.Guarded = false
		inv[key] = e
	}
}

// anyGuarded reports whether a guard may exist for one of the entries.
func anyGuarded(entries []metav1alpha1.InventoryEntry) bool {
	return slices.ContainsFunc(entries, func(e metav1alpha1.InventoryEntry) bool { return e.Guarded })
}
