package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxInventory is the maximum size of the lines of an inventory, in bytes.
const maxInventory = 16 << 20

// writtenSize is the number of bytes by which the line of an entry grows when its object is written, because the line
// then gets a UID, a digest, a hash and a revision.
const writtenSize = 90

// Options configure a Store. All fields are required.
type Options struct {
	// Reconciler is the name of the reconciler.
	Reconciler string
	// Finalizers are the finalizers of the reconciler.
	Finalizers components.Finalizers
	// StatusBytes is the maximum size, in bytes, of an inventory that is written into a status.
	StatusBytes int
	Components  *components.Store
	Owners      *components.Owners
	Records     *records.Store
	// States holds the state of each component.
	States States
}

// Store reads and writes the inventories of components. Its methods change the status of the given component in memory.
// The caller has to write the status, unless the comment of a method says that the method writes it. A Store is safe
// for concurrent use for different components.
type Store struct{ Options }

// NewStore returns a store.
func NewStore(o Options) *Store { return &Store{o} }

func (s *Store) state(obj components.Object) *State {
	return s.States.Of(client.ObjectKeyFromObject(obj))
}

func (s *Store) isDamaged(obj components.Object) bool {
	return components.Damaged(obj, s.Finalizers)
}

// Recorded returns the readable entries of the recorded inventory. It does not recover a lost inventory.
func (s *Store) Recorded(
	ctx context.Context, obj components.Object, owner manifests.Owner,
) ([]metav1alpha1.InventoryEntry, error) {
	lines, err := s.lines(ctx, obj, owner)
	if err != nil && !records.IsLost(err) {
		return nil, err
	}
	return metav1alpha1.ParseInventory(lines)
}

// lines returns the lines of the recorded inventory, from the status, the cache, or the Secrets that the status names.
// The error is a records.LostError if the record does not exist, or if its digest differs from the digest in the
// status. If only the digest differs, the lines are returned as well.
func (s *Store) lines(ctx context.Context, obj components.Object, owner manifests.Owner) ([]string, error) {
	st, state := obj.GetStatus(), s.state(obj)
	if !st.HasInventoryRecord() {
		return st.Inventory, nil
	}
	if lines, known := state.recorded(st); known {
		return lines, nil
	}
	secrets := *st.InventoryRecord
	id, ok := strings.CutPrefix(secrets.Name, records.NamePrefix(records.Inventory, owner.ID(), ""))
	if !ok || secrets.Namespace != s.Records.NamespaceOf(owner) {
		return nil, lost("Secret %s/%s-0, which the status names, is not a record of this component",
			secrets.Namespace, secrets.Name)
	}
	lines, err := records.ReadInventory(ctx, s.Records.Get, secrets)
	if s.Records.Unreachable(ctx, owner, err) {
		return nil, lost("%v", err)
	}
	if err != nil {
		return lines, err
	}
	if components.InventoryDigest(lines) != st.InventoryDigest {
		return lines, lost("the inventory in Secret %s/%s-0 does not match the digest in the status",
			secrets.Namespace, secrets.Name)
	}
	state.setCurrent(cached{secrets: secrets, id: id, digest: st.InventoryDigest, lines: lines})
	return lines, nil
}

func lost(format string, args ...any) error {
	return &records.LostError{Cause: fmt.Sprintf(format, args...)}
}

// Write enters an inventory into the status of a component. An inventory that is too large for the status is written to
// Secrets, after the finalizer was added to the component. recorded is the inventory of the stored status. The caller
// must write the status. If Write fails, the inventory of the status is unchanged.
func (s *Store) Write(
	ctx context.Context, obj components.Object, recorded components.InventoryRef, entries []metav1alpha1.InventoryEntry,
) error {
	st := obj.GetStatus()
	before := *st
	if err := s.enter(obj, entries); err != nil {
		return err
	}
	err := s.writeSecrets(ctx, obj, recorded)
	if err == nil {
		return nil
	}
	inSecrets := st.HasInventoryRecord()
	st.Inventory, st.InventoryRecord, st.InventoryDigest = before.Inventory, before.InventoryRecord, before.InventoryDigest
	if inSecrets && st.InventoryRecord == nil {
		// Some of the Secrets may have been written before the error. The empty value makes a deletion search for Secrets.
		st.InventoryRecord = &metav1alpha1.InventoryRecord{}
	}
	if apierrors.IsForbidden(err) && !obj.GetDeletionTimestamp().IsZero() {
		if s.fallBack(obj, entries, func() bool { return s.namespaceGoes(ctx, obj, err) }) {
			return nil
		}
	}
	return s.writeError(obj, err)
}

// enter enters an inventory into the status of a component: its digest, and either its lines or the name of the Secrets
// that writeSecrets writes. If the status already has the same inventory, it is not changed. The error is terminal if
// the inventory is too large for a record.
func (s *Store) enter(obj components.Object, entries []metav1alpha1.InventoryEntry) error {
	lines, size := linesOf(entries)
	if size > maxInventory {
		return &passerror.Error{
			Reason: metav1alpha1.ReasonInvalidManifests, Terminal: true,
			Message: fmt.Sprintf("the record of %d dependents takes %d bytes, but the maximum is %d bytes; "+
				"split the component into several components", len(entries), size, maxInventory),
		}
	}
	st, digest := obj.GetStatus(), components.InventoryDigest(lines)
	limit := s.StatusBytes
	if st.HasInventoryRecord() {
		// An inventory that is in Secrets moves back into the status only if it fits into half of the limit. Otherwise an
		// inventory near the limit would move between the status and Secrets again and again.
		limit /= 2
	}
	if size <= max(limit, 0) {
		enterLines(st, lines, digest)
		return nil
	}
	if st.HasInventoryRecord() && st.InventoryDigest == digest {
		return nil
	}
	return s.enterSecrets(obj, lines, digest)
}

// linesOf returns the lines of an inventory, and the size in bytes that the lines will have when all objects are
// written.
func linesOf(entries []metav1alpha1.InventoryEntry) (lines []string, size int) {
	lines, size = Lines(entries)
	for _, line := range lines {
		size += len(line)
	}
	return lines, size
}

// enterLines enters the lines of an inventory into a status.
func enterLines(st *metav1alpha1.Status, lines []string, digest string) {
	st.Inventory, st.InventoryDigest = lines, digest
	if st.HasInventoryRecord() {
		st.InventoryRecord = &metav1alpha1.InventoryRecord{}
	}
}

// enterSecrets enters the name of the Secrets that an inventory is to be written to. The name depends on the resource
// version of the component, so that no two records have the same name. So the delayed deletion of a previous record
// cannot delete a later record.
func (s *Store) enterSecrets(obj components.Object, lines []string, digest string) error {
	parts, err := records.Encode(records.Inventory, lines)
	if err != nil {
		return err
	}
	id, err := digests.Of([]string{obj.GetResourceVersion(), digest})
	if err != nil {
		return err
	}
	owner := s.Owners.Known(client.ObjectKeyFromObject(obj))
	secrets := metav1alpha1.InventoryRecord{
		Namespace: s.Records.NamespaceOf(owner), Name: records.NamePrefix(records.Inventory, owner.ID(), id),
		Parts: int32(len(parts)),
	}
	st := obj.GetStatus()
	st.Inventory, st.InventoryRecord, st.InventoryDigest = nil, &secrets, digest
	s.state(obj).setNext(pending{
		cached: cached{secrets: secrets, id: id, digest: digest, lines: lines}, parts: parts,
	})
	return nil
}

// writeSecrets writes the Secrets that a status names, before the status is written. All other Secrets of inventories
// of the component are stale as soon as the status is written.
func (s *Store) writeSecrets(ctx context.Context, obj components.Object, recorded components.InventoryRef) error {
	st := obj.GetStatus()
	if components.RefOf(st).Secrets() == recorded.Secrets() {
		return nil
	}
	owner, err := s.Owners.Of(ctx, obj)
	if err != nil {
		return err
	}
	previous, err := s.Records.Find(ctx, owner, records.Inventory, records.IDOf(recorded.Secrets().Name+"-0"))
	if err != nil {
		return err
	}
	if !st.HasInventoryRecord() {
		s.state(obj).setNext(pending{previous: previous})
		return nil
	}
	next := s.state(obj).nextOf(st)
	if next == nil {
		return fmt.Errorf("the content of Secret %s/%s-0 is unknown", st.InventoryRecord.Namespace, st.InventoryRecord.Name)
	}
	if err := s.Components.AnnounceRecord(ctx, obj, recorded); err != nil {
		return err
	}
	next.previous = slices.DeleteFunc(previous, records.HasID(next.id))
	s.state(obj).setNext(*next)
	rec := records.Record{Kind: records.Inventory, ID: next.id, After: recorded.ID()}
	return s.Records.Write(ctx, owner, rec, next.parts)
}

// writeError returns the condition error of an inventory that could not be written.
func (s *Store) writeError(obj components.Object, err error) error {
	if passerror.Interrupted(err) {
		return err
	}
	if records.IsRefused(err) {
		return records.Problem("write the inventory, which is too large for the status, to Secrets", err)
	}
	if !apierrors.IsForbidden(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return fmt.Errorf("write the inventory, which is too large for the status, to Secrets: %w", err)
	}
	return &passerror.Error{
		Reason: metav1alpha1.ReasonForbidden, Terminal: true,
		Message: fmt.Sprintf("the inventory is too large for the status, and cannot be written to Secrets: %v; "+
			"allow the operator to get, list, create, patch and delete Secrets in the namespace %s, "+
			"or let other components take over some of its dependents",
			err, s.Records.NamespaceOf(s.Owners.Known(client.ObjectKeyFromObject(obj)))),
	}
}

// DeleteStale deletes the Secrets of stale inventories. The caller must call it at the end of a pass. If it returns an
// error, the next call deletes the remaining Secrets.
func (s *Store) DeleteStale(ctx context.Context, obj components.Object) error {
	// The previous pass may have written the status without receiving the response. Then this pass has loaded that
	// status, and the next line updates the state.
	s.state(obj).StatusWritten(obj.GetStatus())
	if err := s.markStale(ctx, obj); err != nil {
		return err
	}
	return s.Records.Remover.DeleteStale(ctx, &s.state(obj).Records)
}

// markStale marks stale Secrets of inventories among those that the garbage collection found and that the status does
// not name. An annotation of each Secret identifies the inventory that the Secret replaces. If the status names another
// inventory now, the Secret is stale: the process that wrote the Secret crashed before the status named it. Otherwise
// another operator process may be about to enter the Secret into the status, so the Secret is kept until the next
// inventory is written. If the recorded inventory is lost, no Secret is marked, because the recovery needs all Secrets.
func (s *Store) markStale(ctx context.Context, obj components.Object) error {
	st, state := obj.GetStatus(), s.state(obj)
	recorded, unnamed := components.RefOf(st), state.Records.UnnamedInventories()
	isKnown := !st.HasInventoryRecord() || state.lookup(st) != nil
	if len(unnamed) == 0 || recorded.Empty() || !isKnown || s.isDamaged(obj) {
		return nil
	}
	if err := s.Components.Confirm(ctx, obj, recorded); err != nil {
		return fmt.Errorf("confirm the component: %w", err)
	}
	state.Records.MarkStale(unnamed, func(secret metav1.Object) bool {
		after := s.Records.Marks.After(secret)
		return after != "" && after != recorded.ID() && !recorded.Names(secret.GetName())
	})
	return nil
}

// DeleteAll deletes the Secrets of all inventories of a component that has no dependents left.
func (s *Store) DeleteAll(ctx context.Context, obj components.Object, owner manifests.Owner) error {
	if obj.GetStatus().InventoryRecord == nil {
		return nil
	}
	if err := s.Records.Remover.DeleteStale(ctx, &s.state(obj).Records); err != nil {
		return err
	}
	if err := s.Records.Remover.Delete(ctx, owner, records.Inventory, records.InventoryID(obj.GetStatus())); err != nil {
		return fmt.Errorf("delete the Secrets of the inventory: %w", err)
	}
	return nil
}
