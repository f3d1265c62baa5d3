package plan

import (
	"slices"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ForDelete plans the next actions of the deletion of all dependents in the inventory. While managed types have foreign
// instances the deletion is blocked, and nothing is changed. Then the objects of the phase pre-delete are applied, the
// dependents are removed, the objects of the phase post-delete are applied, and finally these objects are removed, with
// the dependents that they refer to. If the deletion releases all dependents, the phases are left out.
func ForDelete(f Facts) Plan {
	p, staying := newPlan(f), stayingForPhase(f)
	p.leaveOutPhases(f)
	p.Skipped = p.Inventory.skipped()
	switch {
	case p.mustWait(f, p.Inventory.existing(notPostDelete), ReasonDeleted):
	case p.removeAll(f, p.Inventory.previousDependents(slices.Concat(f.PreDelete, f.PostDelete)), ReasonDeleted):
	case p.runPhase(f, manifests.PhasePreDelete, f.PreDelete):
	case p.removeAll(f, slices.DeleteFunc(p.Inventory.existing(notPostDelete), staying), ReasonDeleted):
	case p.runPhase(f, manifests.PhasePostDelete, f.PostDelete):
	case p.removeAll(f, p.Inventory.existing(inAnyPhase), ReasonDeleted):
	}
	return p
}

// mustWait reports whether no object may be removed yet, because a managed type has foreign instances, or because an
// action must run first. The action may be a read that shows whether a definition still exists, or a change of the
// admission guard.
func (p *Plan) mustWait(f Facts, removals []metav1alpha1.InventoryEntry, reason Reason) bool {
	if p.Actions = confirmations(f, removals, reason); len(p.Actions) > 0 {
		return true
	}
	blocked := blockers(f, removals, reason)
	if pending := guardPending(f, removals, reason); len(blocked) > 0 && len(pending) > 0 {
		p.guard(f, pending)
		return true
	}
	if len(blocked) > 0 && anyGuarded(removals) || guardUnneeded(f, removals, reason) {
		p.removeGuard(f)
	}
	if len(p.Actions) > 0 {
		return true
	}
	p.Blocked = blocked
	return len(p.Blocked) > 0 || len(p.Waiting) > 0
}

// removeAll removes recorded objects; see removeInOrder.
func (p *Plan) removeAll(f Facts, removals []metav1alpha1.InventoryEntry, reason Reason) bool {
	return p.removeInOrder(f, newRemovalGraph(removals), removals, reason)
}

// removeStep removes the objects of a step, except those on which other objects depend. If the deletion of a guarded
// definition fails, the guard is removed, because the definition stays. removeStep reports whether the objects of the
// step no longer exist, or count as deleted by their condition gone-when.
func (p *Plan) removeStep(f Facts, g *removalGraph, step []metav1alpha1.InventoryEntry, reason Reason) (done bool) {
	var unprotected []removal
	refused, done := false, true
	for _, e := range step {
		if g.holds(KeyOf(e)) {
			done = false
			continue
		}
		r := newRemoval(f, e, reason)
		passed, needsGuard := p.remove(r)
		if done = done && passed; needsGuard {
			unprotected = append(unprotected, r)
		}
		refused = refused || r.refused()
	}
	if p.guard(f, unprotected); refused && len(p.Actions) == 0 {
		p.removeGuard(f)
	}
	return done
}

// blockers returns the managed types with foreign instances that would be deleted with their definition, or would lose
// their controller. A definition does not block if it does not exist, is not ours any more, or is to be orphaned. An
// owned namespace contains no controller when it is deleted.
func blockers(f Facts, removals []metav1alpha1.InventoryEntry, reason Reason) []Blocker {
	var found []Blocker
	for _, r := range defining(f, removals, reason) {
		found = append(found, r.blockers(f)...)
	}
	if slices.ContainsFunc(removals, func(e metav1alpha1.InventoryEntry) bool {
		return !Orphans(e, reason) && !IsOwnedNamespace(e)
	}) {
		found = append(found, blocking(f, f.Managed)...)
	}
	sortBlockers(found)
	return found
}

// confirmations returns read actions for definitions that no watch shows, and whose foreign instances would block the
// removal. If the read shows that the definition does not exist, or that another client created a definition with this
// name, the definition does not block.
func confirmations(f Facts, removals []metav1alpha1.InventoryEntry, reason Reason) []Action {
	var reads []Action
	for _, r := range defining(f, removals, reason) {
		why, unseen := ReasonConfirm, r.live.Presence == Absent
		if r.live.unwatched() {
			why, unseen = ReasonUnwatched, true
		}
		mayRead := r.result.Failure == nil && r.result.Attempts < maxAttempts
		if unseen && mayRead && len(r.blockers(f)) > 0 {
			reads = append(reads, *r.act(VerbRead, why).action)
		}
	}
	slices.SortFunc(reads, func(a, b Action) int { return a.Key.Compare(b.Key) })
	return reads
}

// defining returns the removals of objects that define types, such as CustomResourceDefinitions. defining leaves out
// objects that are known not to exist or not to be ours, and objects that are to be orphaned.
func defining(f Facts, removals []metav1alpha1.InventoryEntry, reason Reason) []removal {
	var found []removal
	for _, e := range removals {
		if r := newRemoval(f, e, reason); len(e.Types) > 0 && !Orphans(e, reason) && !r.isAbsent() && !r.notOurs() {
			found = append(found, r)
		}
	}
	return found
}

// blockers returns the types that the object defines and that have foreign instances.
func (r removal) blockers(f Facts) []Blocker {
	return blocking(f, ManagedTypes([]metav1alpha1.InventoryEntry{r.entry}))
}

// blocking returns the types that have foreign instances, and the types whose instances could not be listed.
func blocking(f Facts, types []manifests.ManagedType) []Blocker {
	var found []Blocker
	for _, t := range types {
		if foreign := f.Foreign[t]; foreign.Count > 0 || foreign.Err != nil {
			foreign.Keys = f.Names.of(foreign.Keys)
			found = append(found, Blocker{Type: t, Foreign: foreign})
		}
	}
	return found
}
