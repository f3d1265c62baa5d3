package plan

import (
	"fmt"
	"slices"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// runPhase applies the objects of a phase of a deletion, wave by wave, until all are ready. runPhase reports whether
// the plan has actions, or has to wait. The end of the phase must be written to the inventory before the deletion
// continues.
func (p *Plan) runPhase(f Facts, phase manifests.Phase, objects []manifests.Object) bool {
	if !slices.ContainsFunc(objects, func(o manifests.Object) bool { return !isPhaseOver(p.Inventory[o.Key], phase) }) {
		return false
	}
	p.Inventory.dropPreviousPhase(phase, objects)
	p.Inventory.retryFailed(f, objects)
	p.WriteInventory = p.Inventory.moveKept(phase, objects) || p.WriteInventory
	p.Phase, p.Desired = phase, len(objects)
	// An object of a phase runs once, and must complete. So the component's default reconcile policy and reapply
	// interval are ignored.
	f.Defaults.Reconcile, f.Defaults.Reapply = metav1alpha1.ReconcileOnObjectChange, 0
	f.Inventory = p.Inventory
	var g gate
	for group := range stages(objects) {
		g.enter(group[0])
		p.applyStage(f, &g, group)
	}
	p.recordNamespaces()
	p.Skipped = p.Inventory.skipped()
	if len(p.Actions) > 0 || len(p.Waiting) > 0 {
		return true
	}
	for _, o := range objects {
		if e := p.Inventory[o.Key]; e.Phase == string(phase) {
			e.Completed = true
			p.Inventory[o.Key] = e
		}
	}
	p.Phase, p.WriteInventory = manifests.PhaseApply, true
	return false
}

// leaveOutPhases marks all phases as completed if the component's delete policy and all recorded policies release the
// dependents. A dependent that has another owner by now stays, whatever its policy is. The phases prepare and complete
// the removal of the dependents, for example when a pre-delete hook of a chart deletes data, so they must not run if
// the dependents remain. Phases that have begun are completed.
func (p *Plan) leaveOutPhases(f Facts) {
	fallback := metav1alpha1.InventoryEntry{DeletePolicy: f.Defaults.Delete}
	if !Orphans(fallback, ReasonDeleted) || len(f.PreDelete)+len(f.PostDelete) == 0 {
		return
	}
	for key, e := range p.Inventory {
		if IsOwnedNamespace(e) {
			continue // It is released, too, because the default policy does not delete.
		}
		owner := f.LiveOf(key).Owner
		if stays := Orphans(e, ReasonDeleted) || owner != "" && owner != f.Owner; e.Phase != "" || !stays {
			return
		}
	}
	for _, o := range slices.Concat(f.PreDelete, f.PostDelete) {
		e, recorded := p.Inventory[o.Key]
		if !recorded {
			e = metav1alpha1.InventoryEntry{
				Group: o.Key.Group, Version: o.Version, Kind: o.Key.Kind, Namespace: o.Key.Namespace, Name: o.Key.Name,
				Digest: o.Digest,
			}
		}
		// An object that was applied with the dependents too is released with them.
		e.Phase, e.Completed = string(o.Settings.Phase), true
		p.Inventory[o.Key] = e
		p.WriteInventory = true
	}
}

// ruleSkipped skips an object of a phase that cannot be created because its namespace is being deleted. An object that
// was skipped before stays skipped.
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

// ruleOthersInPhase returns a failure for an object without an owner that an object of a phase would take over. The
// deletion also deletes the object, so a component takes it over only if it lists the object, or if the adoption policy
// is always.
func ruleOthersInPhase(c candidate) (decision, bool) {
	switch {
	case !c.inDeletion() || c.live.Owner != "":
		return decision{}, false
	case c.adoption == metav1alpha1.AdoptNever:
		return c.refuseAdoption("it exists already, and its adoption policy is never; " + avoidance(c)), true
	case c.live.Mark == nil, isListed(c), c.adoptions.unowned, c.adoption == metav1alpha1.AdoptAlways:
		return decision{}, false
	case c.live.Mark.By != "":
		return c.refuseAdoption(unlisted(c, "it belongs to "+c.live.Mark.By) + "; " + adviceInPhase(c)), true
	case c.entry.UID != "" || providedByKubernetes(c.object.Key):
		return decision{}, false
	}
	reason := unlisted(c, fmt.Sprintf("%s, and somebody else created it (managed by: %s)", existing(c), c.adoptedFrom()))
	return c.refuseAdoption(reason + "; " + adviceInPhase(c)), true
}

// adviceInPhase returns advice for an object of a phase that exists already and that the component does not list: first
// what keeps the other object, and then what takes it over, with the loss. A component whose type has no list cannot
// take it over, because a deletion renders no manifests with another policy.
func adviceInPhase(c candidate) string {
	if c.adoptions.list == "" {
		return avoidance(c)
	}
	loss := fmt.Sprintf("delete it with its contents in the end (%s)", LossOf(c.object.Key))
	if !c.isDeletedWithComponent() {
		loss = "replace its values"
	}
	return fmt.Sprintf("%s; the entry %s in %s lets the component take it over, and %s",
		avoidance(c), adoptEntry(c), c.adoptions.list, loss)
}

// Existing returns what a deletion would do with an object of a phase in the state that the facts have: the action or
// the wait, and neither if the object is in sync. deleted is set if the deletion deletes the object in the end.
func Existing(f Facts, o *manifests.Object) (action *Action, waiting *Waiting, deleted bool) {
	c := newCandidate(f, o)
	d := decide(applyRules, c)
	return d.action, d.waiting, c.isDeletedWithComponent()
}

// isDeletedWithComponent reports whether the object is deleted, and not released, when the component is deleted.
func (c candidate) isDeletedWithComponent() bool { return !Orphans(c.newEntry(), ReasonDeleted) }

// OfPhase separates the objects of a phase from the other objects.
func OfPhase(objects []manifests.Object, phase manifests.Phase) (found, others []manifests.Object) {
	for _, o := range objects {
		if o.Settings.Phase == phase {
			found = append(found, o)
		} else {
			others = append(others, o)
		}
	}
	return found, others
}

// PhaseDigest returns a digest of the objects of the deletion phases. The digest is empty if there are no objects.
func PhaseDigest(objects []manifests.Object) (string, error) {
	if len(objects) == 0 {
		return "", nil
	}
	parts := make([]string, 0, len(objects))
	for _, o := range objects {
		parts = append(parts, o.Key.String()+" "+o.Digest)
	}
	return digests.Of(parts)
}
