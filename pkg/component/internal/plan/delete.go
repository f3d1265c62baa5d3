package plan

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ForDelete plans the deletion of everything in the inventory. While foreign instances of managed types exist it is blocked, and
// nothing is touched. Before anything is deleted the objects of the phase pre-delete are applied; those of post-delete when all else is
// gone.
func ForDelete(f Facts) Plan {
	p := Plan{Inventory: maps.Clone(f.Inventory), Repairs: map[manifests.Key]Repairs{}}
	if p.Inventory == nil {
		p.Inventory = Inventory{}
	}
	p.clearGuarded(f)
	p.skipped()
	switch {
	case p.mustWait(f, p.existing(notPostDelete), ReasonDeleted):
	case p.removeAll(f, p.formerDependents(f), ReasonDeleted):
	case p.runPhase(f, manifests.PhasePreDelete, f.PreDelete):
	case p.removeAll(f, p.existing(notPostDelete), ReasonDeleted):
	case p.runPhase(f, manifests.PhasePostDelete, f.PostDelete):
	case p.removeAll(f, p.existing(inAnyPhase), ReasonDeleted):
	}
	return p
}

// planPrune deletes what is recorded and no longer desired.
func planPrune(f Facts, p Plan) Plan {
	removals := Removals(p.Inventory, f.Desired)
	if !p.mustWait(f, removals, ReasonPruned) {
		p.removeAll(f, removals, ReasonPruned)
	}
	return p
}

// ManagedTypes returns the types that recorded dependents define. Only readable entries count: they are validated when recorded.
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

// Removals returns the recorded dependents that are not desired.
func Removals(inv Inventory, desired []manifests.Object) []metav1alpha1.InventoryEntry {
	keep := make(map[manifests.Key]bool, len(desired))
	for _, o := range desired {
		keep[o.Key] = true
	}
	var removals []metav1alpha1.InventoryEntry
	for key, e := range inv {
		if !keep[key] {
			removals = append(removals, e)
		}
	}
	return removals
}

// IsNamespace says that everything goes with the object that is in the namespace of its name.
func IsNamespace(key manifests.Key) bool {
	return key.GroupKind() == schema.GroupKind{Kind: "Namespace"}
}

// refuse says whether removals must not be touched now, or that it is to be found out first.
func (p *Plan) mustWait(f Facts, removals []metav1alpha1.InventoryEntry, reason Reason) bool {
	if p.Actions = confirmations(f, removals, reason); len(p.Actions) > 0 {
		return true
	}
	blocked := blockers(f, removals, reason)
	if making := guardPending(f, removals, reason); len(blocked) > 0 && len(making) > 0 {
		p.guard(f, making)
		return true
	}
	if len(blocked) > 0 && guarded(removals) || guardUnneeded(f, removals, reason) {
		p.removeGuard(f, ReasonUnguard)
	}
	if len(p.Actions) > 0 {
		return true
	}
	p.Blocked = blocked
	return len(p.Blocked) > 0 || len(p.Waiting) > 0
}

// removeAll deletes removals stage by stage; the next stage begins when this one is gone. It says whether there is anything left to do, or to
// wait for.
func (p *Plan) removeAll(f Facts, removals []metav1alpha1.InventoryEntry, reason Reason) bool {
	if len(removals) == 0 {
		return false
	}
	types := append(ManagedTypes(slices.Collect(maps.Values(f.Inventory))), f.Managed...)
	for _, step := range deleteSteps(removals, manifests.NewTypeSet(types)) {
		var unprotected []removal
		for _, e := range step {
			if v := newRemoval(f, e, reason); p.remove(v) {
				unprotected = append(unprotected, v)
			}
		}
		p.guard(f, unprotected)
		if len(p.Actions) > 0 || len(p.Waiting) > 0 {
			return true
		}
	}
	return false
}

// blockers returns the types whose foreign instances would go with their definition, or would lose what serves them. A definition that is
// gone, or not ours any more, takes nothing along; nor does one that is released.
func blockers(f Facts, removals []metav1alpha1.InventoryEntry, reason Reason) []Blocker {
	var found []Blocker
	for _, v := range defining(f, removals, reason) {
		found = append(found, v.blockers(f)...)
	}
	if slices.ContainsFunc(removals, func(e metav1alpha1.InventoryEntry) bool { return !Orphans(e, reason) }) {
		found = append(found, blocking(f, f.Managed)...)
	}
	sortBlockers(found)
	return found
}

// confirmations reads the definitions that would block, although a watch does not show them: one that is gone, or that somebody else
// created under that name, does not.
func confirmations(f Facts, removals []metav1alpha1.InventoryEntry, reason Reason) []Action {
	var reads []Action
	for _, v := range defining(f, removals, reason) {
		untold := (v.live.Presence == Absent || v.live.unwatched()) && v.result.Failure == nil && v.result.Attempts < maxAttempts
		if untold && len(v.blockers(f)) > 0 {
			reads = append(reads, *v.act(VerbRead, ReasonConfirm).action)
		}
	}
	slices.SortFunc(reads, func(a, b Action) int { return a.Key.Compare(b.Key) })
	return reads
}

// defining returns the removals that define types, that may exist and be ours, and that are to be deleted.
func defining(f Facts, removals []metav1alpha1.InventoryEntry, reason Reason) []removal {
	var found []removal
	for _, e := range removals {
		if v := newRemoval(f, e, reason); len(e.Types) > 0 && !Orphans(e, reason) && !v.gone() && !v.notOurs() {
			found = append(found, v)
		}
	}
	return found
}

// blockers returns the types that the removal defines and that have foreign instances.
func (v removal) blockers(f Facts) []Blocker {
	return blocking(f, ManagedTypes([]metav1alpha1.InventoryEntry{v.entry}))
}

// blocking returns those of the types that have, or may have, foreign instances.
func blocking(f Facts, types []manifests.ManagedType) []Blocker {
	var found []Blocker
	for _, t := range types {
		if foreign := f.Foreign[t]; foreign.Count > 0 || foreign.Err != nil {
			found = append(found, Blocker{Type: t, Foreign: foreign})
		}
	}
	return found
}
