package component

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

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
	if lost != nil && !records.IsLost(lost) {
		return nil, nil, unreadInventory("cannot be read", lost)
	}
	entries, err := metav1alpha1.ParseInventory(lines)
	if err == nil && lost == nil && !components.Damaged(component, r.Finalizer()) {
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
	strays, err := r.addUnnamed(ctx, owner, rebuilt)
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, unreadInventory("is lost or damaged, and what is left of it cannot be found", err)
	}
	restoreTypes(component)
	inventory, status := sortedEntries(rebuilt), component.GetStatus()
	recorded := components.RefOf(status)
	if err := r.enterRebuilt(ctx, component, inventory, len(strays) > 0); err != nil {
		return nil, err
	}
	if len(inventory) == 0 && status.PhaseRecord == "" && status.RenderedSet == "" && status.InventoryRecord == nil && recorded.Empty() {
		// There is nothing to look for again, should this pass not get as far as writing a status.
		return inventory, nil
	}
	if err := r.components.WriteStatus(ctx, component, recorded); err != nil {
		return nil, err
	}
	if !components.Damaged(component, r.Finalizer()) {
		r.setStale(client.ObjectKeyFromObject(component), strays, status)
	}
	return inventory, nil
}

// enterRebuilt enters what was rebuilt into the status, behind the finalizer. Where there are Secrets of an inventory, the status says so from now on.
func (r *Reconciler[T]) enterRebuilt(ctx context.Context, component T, inventory []metav1alpha1.InventoryEntry, strays bool) error {
	status := component.GetStatus()
	if len(inventory) > 0 && component.GetDeletionTimestamp().IsZero() {
		if err := r.components.AddFinalizer(ctx, component); err != nil {
			return err
		}
	}
	recorded, named := components.RefOf(status), status.InventoryRecord
	if strays || recorded.Secrets().Name != "" {
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
	found, err := r.records.List(ctx, owner)
	if apierrors.IsForbidden(err) {
		if status.PhaseRecord == "" {
			status.PhaseRecord = records.PhasesUnknown
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
	if status.PhaseRecord != records.PhasesUnknown {
		return nil
	}
	if err := r.rebuildRecords(ctx, component, owner); err != nil || status.PhaseRecord == records.PhasesUnknown {
		return err
	}
	r.rendered.drop(client.ObjectKeyFromObject(component))
	return nil
}

// addUnnamed adds to a rebuilt inventory the entries of the inventory in Secrets that was written last: the lost or edited
// status may not name it. It returns the Secrets of all inventories. Objects that were created again since, with another
// UID, stay as they were found.
func (r *Reconciler[T]) addUnnamed(
	ctx context.Context, owner manifests.Owner, rebuilt plan.Inventory,
) ([]metav1.PartialObjectMetadata, error) {
	secrets, err := r.records.ListKind(ctx, owner, records.Inventory)
	if err != nil {
		return nil, err
	}
	lines, err := r.records.ReadLatestInventory(ctx, owner, secrets)
	if err != nil && !records.IsLost(err) {
		return nil, err
	}
	// Objects whose lines cannot be parsed were found by their labels.
	entries, _ := metav1alpha1.ParseInventory(lines)
	for _, e := range entries {
		found, ok := rebuilt[plan.KeyOf(e)]
		if ok && found.UID != e.UID {
			continue
		}
		if ok {
			// The record may be older than the object.
			e.DeletePolicy = found.DeletePolicy
		}
		rebuilt[plan.KeyOf(e)] = e
	}
	return secrets, nil
}

// setStale marks Secrets of inventories as stale, except those that the status names.
func (r *Reconciler[T]) setStale(
	name types.NamespacedName, secrets []metav1.PartialObjectMetadata, status *metav1alpha1.Status,
) {
	if s := r.shelvedAs(name, status); s != nil {
		secrets = slices.DeleteFunc(secrets, records.HasID(s.id))
	}
	if len(secrets) > 0 {
		r.secrets.of(name).SetStale(secrets)
	}
}

// markStale decides about the unnamed Secrets of inventories that the garbage collection found. A Secret is stale if it
// was written to replace another inventory than the one that the status names now: a crash left it. Otherwise another
// operator process may be about to name it, and it is deleted after the next inventory is written. If the recorded
// inventory is lost, all Secrets are needed to rebuild it.
func (r *Reconciler[T]) markStale(ctx context.Context, component T) error {
	name, status := client.ObjectKeyFromObject(component), component.GetStatus()
	memory, recorded := r.secrets.of(name), components.RefOf(status)
	unnamed := memory.UnnamedInventories()
	isKnown := !status.HasInventoryRecord() || r.shelvedAs(name, status) != nil
	if len(unnamed) == 0 || recorded.Empty() || !isKnown || components.Damaged(component, r.Finalizer()) {
		return nil
	}
	if err := r.components.Confirm(ctx, component, recorded); err != nil {
		return fmt.Errorf("confirm the component: %w", err)
	}
	memory.MarkStale(unnamed, func(secret metav1.Object) bool {
		after := r.records.After(secret)
		return after != "" && after != recorded.ID() && !recorded.Names(secret.GetName())
	})
	return nil
}

// deleteStale deletes the Secrets of stale inventories at the end of a pass. after is the time until the next pass, 0 for
// none. deleteStale returns it, or a shorter time if the deletion failed.
func (r *Reconciler[T]) deleteStale(ctx context.Context, component T, after time.Duration) time.Duration {
	err := r.markStale(ctx, component)
	if err == nil {
		err = r.records.DeleteStale(ctx, r.secrets.of(client.ObjectKeyFromObject(component)))
	}
	if err == nil {
		return after
	}
	log.FromContext(ctx).Info("stale Secrets are deleted later", "cause", err.Error())
	soon := r.intervals(component).Retry
	if after == 0 {
		return soon
	}
	return min(after, soon)
}

// deleteInventories deletes the Secrets of all inventories when nothing is left to record.
func (r *Reconciler[T]) deleteInventories(ctx context.Context, component T, owner manifests.Owner) error {
	if component.GetStatus().InventoryRecord == nil {
		return nil
	}
	if err := r.records.Delete(ctx, owner, records.Inventory, ""); err != nil {
		return fmt.Errorf("delete the Secrets of the inventory: %w", err)
	}
	return nil
}
