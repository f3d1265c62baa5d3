package plan

import (
	"slices"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// An object of a phase stays in the inventory until the component is gone: as long as a deletion lasts, the record says which of them are
// still to be applied. Completed means that the phase is over for it, and no UID besides that it is gone, too.

// formerDependents returns the ordinary dependents that have the place of an object of a phase: it was one of them before, and what it did then
// does not count. They go first.
func (p *Plan) formerDependents(f Facts) []metav1alpha1.InventoryEntry {
	var found []metav1alpha1.InventoryEntry
	for _, o := range slices.Concat(f.PreDelete, f.PostDelete) {
		if e, recorded := p.Inventory[o.Key]; recorded && e.Phase == "" {
			found = append(found, e)
		}
	}
	return found
}

// runPhase applies the objects of a phase, wave by wave, until all of them are ready. It says whether there is anything left to do, or to
// wait for. That it is over is recorded before anything else happens.
func (p *Plan) runPhase(f Facts, phase manifests.Phase, objects []manifests.Object) bool {
	if !slices.ContainsFunc(objects, func(o manifests.Object) bool { return !phaseOver(p.Inventory[o.Key], phase) }) {
		return false
	}
	p.dropFormerPhase(phase, objects)
	p.Phase, p.Desired = phase, len(objects)
	// What runs once is neither applied again nor left alone half done, whatever the component says of its dependents.
	f.Defaults.Reconcile, f.Defaults.Reapply = metav1alpha1.ReconcileOnObjectChange, 0
	f.Inventory = p.Inventory
	var g gate
	for group := range stages(objects) {
		g.enter(group[0])
		p.applyStage(f, &g, group)
	}
	p.skipped()
	if len(p.Actions) > 0 || len(p.Waiting) > 0 {
		return true
	}
	for _, o := range objects {
		if e := p.Inventory[o.Key]; e.Phase == string(phase) {
			e.Completed = true
			p.Inventory[o.Key] = e
		}
	}
	p.Phase, p.Record = manifests.PhaseApply, true
	return false
}

// over says of a recorded object that a phase is over for it. An object may have a place in both.
func phaseOver(e metav1alpha1.InventoryEntry, phase manifests.Phase) bool {
	if phase == manifests.PhasePreDelete && manifests.Phase(e.Phase) == manifests.PhasePostDelete {
		return true
	}
	return e.Completed && e.Phase == string(phase)
}

// dropFormerPhase forgets of the objects of a phase what they did in the one before, after which they were deleted.
func (p *Plan) dropFormerPhase(phase manifests.Phase, objects []manifests.Object) {
	for _, o := range objects {
		if e := p.Inventory[o.Key]; e.Phase != string(phase) && isGone(e) {
			delete(p.Inventory, o.Key)
		}
	}
}

// ruleSkipped passes over what cannot be created any more, and what was passed over before.
func ruleSkipped(c candidate) (decision, bool) {
	failure := c.result.Failure
	switch {
	case c.object.Settings.Phase == manifests.PhaseApply:
		return decision{}, false
	case isSkipped(c.entry):
		return decision{}, true
	case failure == nil || failure.Reason != WaitNamespaceTerminating:
		return decision{}, false
	}
	e := c.newEntry()
	e.Completed = true
	return decision{entry: &e}, true
}

// isSkipped says of a recorded object of a phase that it could not be applied.
func isSkipped(e metav1alpha1.InventoryEntry) bool {
	return e.Phase != "" && e.Completed && e.UID == "" && e.Digest == ""
}

// skipped names the objects that could not be applied.
func (p *Plan) skipped() {
	p.Skipped = nil
	for key, e := range p.Inventory {
		if isSkipped(e) {
			p.Skipped = append(p.Skipped, key)
		}
	}
	slices.SortFunc(p.Skipped, manifests.Key.Compare)
}

// forget drops the record of what is gone. That of an object of a phase stays, so that it is not applied again.
func (p *Plan) forgetEntry(e metav1alpha1.InventoryEntry) {
	if e.Phase == "" {
		delete(p.Inventory, KeyOf(e))
		return
	}
	e.UID, e.Completed = "", true
	p.Inventory[KeyOf(e)] = e
}

// isGone says of a recorded object of a phase that it did its work and is gone.
func isGone(e metav1alpha1.InventoryEntry) bool { return e.Phase != "" && e.Completed && e.UID == "" }

// living returns the recorded objects of some phases that may exist.
func (p *Plan) existing(of func(manifests.Phase) bool) []metav1alpha1.InventoryEntry {
	var found []metav1alpha1.InventoryEntry
	for _, e := range p.Inventory {
		if !isGone(e) && of(manifests.Phase(e.Phase)) {
			found = append(found, e)
		}
	}
	return found
}

func inAnyPhase(manifests.Phase) bool { return true }

// ordinary dependents, and objects that were applied to prepare the deletion, go together.
func notPostDelete(phase manifests.Phase) bool { return phase != manifests.PhasePostDelete }
