package component

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func inventoryDigest(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	digest, err := manifests.Digest(lines)
	if err != nil {
		return ""
	}
	return digest
}

// inventory reads the record of a component. Where it is lost, or was edited, it is rebuilt from the owner labels before anything is
// planned: nothing leaks, and nothing is pruned for want of a record.
func (r *Reconciler[T]) inventory(ctx context.Context, component T, owner manifests.Owner, e *Engine) ([]metav1alpha1.InventoryEntry, error) {
	if lines := r.unrecorded(client.ObjectKeyFromObject(component), component.GetStatus()); lines != nil {
		return metav1alpha1.ParseInventory(lines)
	}
	known, found, err := r.knownInventory(ctx, component, owner, e)
	if err != nil || found == nil {
		return known, err
	}
	if known, err = r.restore(ctx, component, owner, plan.NewInventory(known)); err == nil {
		r.tellMissed(ctx, component, owner, found)
	}
	return known, err
}

// knownInventory returns the record of a component, or what is rebuilt of it, and then what that was found by; it writes nothing.
func (r *Reconciler[T]) knownInventory(
	ctx context.Context, component T, owner manifests.Owner, e *Engine,
) (known []metav1alpha1.InventoryEntry, found findings, err error) {
	lines, lost := r.recordedLines(ctx, component, owner)
	if lost != nil && !isLost(lost) {
		return nil, nil, unreadInventory("cannot be read", lost)
	}
	entries, err := metav1alpha1.ParseInventory(lines)
	if err == nil && lost == nil && !r.damaged(component) {
		return entries, nil, nil
	}
	found, err = e.search(ctx, owner, policiesOf(component).Or(e.defaults).Delete, e.searched(component, entries))
	if err != nil {
		return nil, nil, unreadInventory("is lost or damaged, and cannot be rebuilt from the owner labels", err)
	}
	if err := r.checkSight(ctx, component, e, found); err != nil {
		return nil, nil, err
	}
	rebuilt := found.entries()
	log.FromContext(ctx).Info("rebuilt the inventory from owner labels", "recorded", len(entries), "found", len(rebuilt))
	inventory := plan.NewInventory(rebuilt)
	for _, e := range entries {
		inventory[plan.KeyOf(e)] = e
	}
	return sortedEntries(inventory), found, nil
}

func unreadInventory(what string, err error) error {
	if condition.Interrupted(err) {
		return err
	}
	return &condition.Error{Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("the recorded inventory %s: %v", what, err)}
}

// restore enters what was rebuilt into the status, with what Secrets add to it that nobody names any more, and persists it before the pass
// writes anything else there: from then on nothing tells that it was lost.
func (r *Reconciler[T]) restore(ctx context.Context, component T, owner manifests.Owner, rebuilt plan.Inventory) ([]metav1alpha1.InventoryEntry, error) {
	if err := r.rebuildRecords(ctx, component, owner); err != nil {
		return nil, err
	}
	strays, err := r.addStrays(ctx, owner, rebuilt)
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, unreadInventory("is lost or damaged, and what is left of it cannot be found", err)
	}
	restoreTypes(component)
	inventory, status := sortedEntries(rebuilt), component.GetStatus()
	recorded := markOf(status)
	if err := r.enterRebuilt(ctx, component, inventory, len(strays) > 0); err != nil {
		return nil, err
	}
	if len(inventory) == 0 && status.PhaseRecord == "" && status.RenderedSet == "" && status.InventoryRecord == nil && recorded.empty() {
		// There is nothing to look for again, should this pass not get as far as writing a status.
		return inventory, nil
	}
	if err := r.writeStatus(ctx, component, recorded); err != nil {
		return nil, err
	}
	if !r.damaged(component) {
		r.leave(client.ObjectKeyFromObject(component), strays, status)
	}
	return inventory, nil
}

// enterRebuilt enters what was rebuilt into the status, behind the finalizer. Where there are Secrets of an inventory, the status says so from now on.
func (r *Reconciler[T]) enterRebuilt(ctx context.Context, component T, inventory []metav1alpha1.InventoryEntry, strays bool) error {
	status := component.GetStatus()
	if len(inventory) > 0 && component.GetDeletionTimestamp().IsZero() {
		if err := r.hold(ctx, component); err != nil {
			return err
		}
	}
	recorded, named := markOf(status), status.InventoryRecord
	if strays || recorded.secrets.Name != "" {
		status.InventoryRecord = &metav1alpha1.InventoryRecord{}
	}
	if err := r.keepInventory(ctx, component, recorded, inventory); err != nil {
		if named != nil {
			status.InventoryRecord = named
		}
		return err
	}
	status.Reconciler = r.name
	return nil
}

// newestRevision returns the newest revision that anything of an inventory was applied in. A record that outlived the status it belongs to has
// revisions that the status does not know of any more: new inputs must have none of them, or what was applied in it would pass for theirs.
func newestRevision(inventory []metav1alpha1.InventoryEntry) int64 {
	var newest int64
	for _, e := range inventory {
		newest = max(newest, e.Revision)
	}
	return newest
}

// newestRendition is the same of the renditions of a revision.
func newestRendition(inventory []metav1alpha1.InventoryEntry, revision int64) int64 {
	var newest int64
	for _, e := range inventory {
		if e.Revision == revision {
			newest = max(newest, e.Rendition)
		}
	}
	return newest
}

// rebuildRecords finds the other records of a component, all of them or none. Who may not list Secrets may have written none; a status that names
// none says that it is not known, and one that does is believed.
func (r *Reconciler[T]) rebuildRecords(ctx context.Context, component T, owner manifests.Owner) error {
	status := component.GetStatus()
	found, err := r.listSecrets(ctx, owner)
	if apierrors.IsForbidden(err) {
		if status.PhaseRecord == "" {
			status.PhaseRecord = phaseUnknown
		}
		return nil
	}
	if err != nil {
		return phaseProblem("find", err)
	}
	r.enterPhases(status, found)
	r.enterKept(status, found)
	return nil
}

// findRecords looks again for records that could not be looked for when the status was rebuilt. What was rendered meanwhile counts no more.
func (r *Reconciler[T]) findRecords(ctx context.Context, component T, owner manifests.Owner) error {
	status := component.GetStatus()
	if status.PhaseRecord != phaseUnknown {
		return nil
	}
	if err := r.rebuildRecords(ctx, component, owner); err != nil || status.PhaseRecord == phaseUnknown {
		return err
	}
	r.rendered.drop(client.ObjectKeyFromObject(component))
	return nil
}
