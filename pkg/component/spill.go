package component

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// An inventory that takes much of the status is recorded in Secrets, and the status names them. A record is never changed: where the
// inventory differs, the Secrets of another one are written first, then the status names that one, and then those before go. So the status
// names a complete record at any time, whatever fails in between.

// maxInventory bounds the text of an inventory, in bytes, wherever it is.
const maxInventory = 16 << 20

// writtenSize is what an entry gains when its object is written: UID, digest, hash and revision.
const writtenSize = 90

// keepInventory enters an inventory into the status of a component, and writes the Secrets that the status is going to name, where it takes
// some. recorded is what the status says that the API server has. Where it fails, the status is as it was.
func (r *Reconciler[T]) keepInventory(ctx context.Context, component T, recorded components.InventoryRef, inventory []metav1alpha1.InventoryEntry) error {
	status := component.GetStatus()
	before := *status
	if err := r.setInventory(component, inventory); err != nil {
		return err
	}
	err := r.writeInventory(ctx, component, recorded)
	if err == nil {
		return nil
	}
	drafted := status.HasInventoryRecord()
	status.Inventory, status.InventoryRecord, status.InventoryDigest = before.Inventory, before.InventoryRecord, before.InventoryDigest
	if drafted && status.InventoryRecord == nil {
		// Some of the Secrets may be there, and a deletion has to look for them.
		status.InventoryRecord = &metav1alpha1.InventoryRecord{}
	}
	if apierrors.IsForbidden(err) && !component.GetDeletionTimestamp().IsZero() &&
		r.keepElsewhere(component, inventory, func() bool { return r.goesWithRecords(ctx, component, err) }) {
		return nil
	}
	return r.inventoryProblem(component, err)
}

// setInventory enters an inventory into the status of a component, with the digest that guards it: its lines, or the name that Secrets with
// them are to have. A status that says so already is left as it is. One that would not fit anywhere is an error.
func (r *Reconciler[T]) setInventory(component T, inventory []metav1alpha1.InventoryEntry) error {
	lines, size := inventoryText(inventory)
	if size > maxInventory {
		return &condition.Error{
			Reason: metav1alpha1.ReasonInvalidManifests, Terminal: true,
			Message: fmt.Sprintf("the record of %d dependents takes %d bytes, and no record may take more than %d; make several components of them",
				len(inventory), size, maxInventory),
		}
	}
	status, digest := component.GetStatus(), components.InventoryDigest(lines)
	if !r.spills(status, size) {
		enterLines(status, lines, digest)
		return nil
	}
	if status.HasInventoryRecord() && status.InventoryDigest == digest {
		return nil
	}
	return r.draftInventory(component, lines, digest)
}

// inventoryText returns the lines of an inventory, and how many bytes they are going to take when all dependents are written.
func inventoryText(inventory []metav1alpha1.InventoryEntry) (lines []string, size int) {
	lines = make([]string, 0, len(inventory))
	for _, e := range inventory {
		line := e.String()
		lines = append(lines, line)
		size += len(line)
		if e.UID == "" {
			size += writtenSize
		}
	}
	return lines, size
}

// spills says that an inventory of a size goes into Secrets. What is there comes back only when it takes half of what a status holds, so
// that it does not go to and fro.
func (r *Reconciler[T]) spills(status *metav1alpha1.Status, size int) bool {
	limit := r.options.StatusInventory
	if status.HasInventoryRecord() {
		limit /= 2
	}
	return size > max(limit, 0)
}

// enterLines enters an inventory into the status itself.
func enterLines(status *metav1alpha1.Status, lines []string, digest string) {
	status.Inventory, status.InventoryDigest = lines, digest
	if status.HasInventoryRecord() {
		status.InventoryRecord = &metav1alpha1.InventoryRecord{}
	}
}

// draftInventory names the Secrets that an inventory is to be written to. The name depends on the version of the component, so no two
// records of a component share one: who deletes a former record never meets a later one.
func (r *Reconciler[T]) draftInventory(component T, lines []string, digest string) error {
	parts, err := records.Encode(lines)
	if err != nil {
		return err
	}
	id, err := manifests.Digest([]string{component.GetResourceVersion(), digest})
	if err != nil {
		return err
	}
	name := client.ObjectKeyFromObject(component)
	owner := r.owners.Known(name)
	named := metav1alpha1.InventoryRecord{
		Namespace: r.records.NamespaceOf(owner), Name: records.NamePrefix(records.Inventory, owner.ID(), id), Parts: int32(len(parts)),
	}
	status := component.GetStatus()
	status.Inventory, status.InventoryRecord, status.InventoryDigest = nil, &named, digest
	r.shelve(name, shelf{next: &shelved{secrets: named, id: id, digest: digest, lines: lines, parts: parts}})
	return nil
}

// writeInventory writes the Secrets that a status is going to name, before it does, and notes those that do not count from then on.
func (r *Reconciler[T]) writeInventory(ctx context.Context, component T, recorded components.InventoryRef) error {
	status, name := component.GetStatus(), client.ObjectKeyFromObject(component)
	if components.RefOf(status).Secrets() == recorded.Secrets() {
		return nil
	}
	owner, err := r.owners.Of(ctx, component)
	if err != nil {
		return err
	}
	former, err := r.records.ListKind(ctx, owner, records.Inventory)
	if err != nil {
		return err
	}
	if !status.HasInventoryRecord() {
		r.shelve(name, shelf{next: &shelved{former: former}})
		return nil
	}
	next := r.shelvedAs(name, status)
	if next == nil {
		return fmt.Errorf("what was to be written to Secret %s/%s-0 is not known any more", status.InventoryRecord.Namespace, status.InventoryRecord.Name)
	}
	if err := r.components.AnnounceRecord(ctx, component, recorded); err != nil {
		return err
	}
	next.former = slices.DeleteFunc(former, records.HasID(next.id))
	return r.records.Write(ctx, owner, records.Record{Kind: records.Inventory, ID: next.id, After: recorded.ID()}, next.parts)
}

// inventoryProblem tells why an inventory could not be written.
func (r *Reconciler[T]) inventoryProblem(component T, err error) error {
	if condition.Interrupted(err) {
		return err
	}
	if !apierrors.IsForbidden(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return fmt.Errorf("write the inventory, which takes too much for the status: %w", err)
	}
	where := r.records.NamespaceOf(r.owners.Known(client.ObjectKeyFromObject(component)))
	return &condition.Error{
		Reason: metav1alpha1.ReasonForbidden, Terminal: true,
		Message: fmt.Sprintf("the inventory takes too much for the status, and cannot be written to Secrets: %v; "+
			"allow the operator to get, list, create, patch and delete Secrets in the namespace %s, or make several components", err, where),
	}
}
