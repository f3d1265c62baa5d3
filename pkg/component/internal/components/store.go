package components

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/backoff"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
)

// A write is retried at most maxRetries times after conflicts, because other clients may write to the component all the
// time.
const maxRetries = 15

// pauses are the longest pauses before the retries after the first one. The pauses are random.
var pauses = backoff.Backoff{First: 10 * time.Millisecond, Last: 500 * time.Millisecond}

// Store reads and writes the components of one reconciler. It is safe for concurrent use. A write changes only the
// status or the finalizers of the stored component. Other changes of the object in memory, such as defaults that a hook
// filled in, are never sent.
type Store struct {
	options Options
	owners  *Owners
	passes  *Passes
}

// NewStore returns a Store for the components of a reconciler.
func NewStore(options Options, owners *Owners, passes *Passes) *Store {
	if len(options.FieldOwners) == 0 {
		options.FieldOwners = []string{options.Name}
	}
	return &Store{options, owners, passes}
}

// Load returns the newest known version of a component: from the cache, or this process's last write if the cache is
// older. The error is NotFound if the cache contains no such component. The caller may change the result.
//
// The last write is also preferred if the cache contains the same version. At its end, a pass compares its status with
// the loaded status, and writes it if they differ. Times in the cached version have no fractions of a second, so the
// comparison would find a difference and cause a needless write.
//
// If the record of the dependents must not be believed, because another client wrote it, its status is marked; see
// Doubt.
func (s *Store) Load(ctx context.Context, name types.NamespacedName) (Object, error) {
	obj, err := s.LoadSpec(ctx, name)
	if err != nil {
		return nil, err
	}
	if s.options.Idle.fill(obj) {
		s.examine(obj)
		return obj, nil
	}
	// The inventory was dropped from the cache, because the component was idle.
	live, err := s.options.New()
	if err != nil {
		return nil, err
	}
	if err := s.options.Reader.Get(ctx, name, live); err != nil {
		return nil, err
	}
	s.options.Idle.keep(live)
	s.examine(live)
	return live, nil
}

// LoadSpec is Load without the inventory in the status, so it sends no request. The result must not be written.
func (s *Store) LoadSpec(ctx context.Context, name types.NamespacedName) (Object, error) {
	// The last write is read before the cache. If another goroutine drops the last write in between, the cache already
	// has that version.
	written := s.options.States.Known(name).lastWrite()
	cached, err := s.options.New()
	if err != nil {
		return nil, err
	}
	if err := s.options.Client.Get(ctx, name, cached); err != nil {
		return nil, err
	}
	if written == nil ||
		hasCaughtUp(cached, written) && cached.GetResourceVersion() != written.GetResourceVersion() {
		return cached, nil
	}
	return copyOf(written)
}

// loadExisting is Load for the writes of a pass. If the component does not exist, the error is a conflict, which ends
// the pass.
func (s *Store) loadExisting(ctx context.Context, name types.NamespacedName) (Object, error) {
	obj, err := s.Load(ctx, name)
	if apierrors.IsNotFound(err) {
		return nil, s.options.conflict(name, "the component does not exist any more")
	}
	return obj, err
}

// Live reads a component from the API server, like Load. If the component does not exist, the error is a conflict,
// which ends the pass.
func (s *Store) Live(ctx context.Context, name types.NamespacedName) (Object, error) {
	live, err := s.options.New()
	if err != nil {
		return nil, err
	}
	err = s.options.Reader.Get(ctx, name, live)
	if apierrors.IsNotFound(err) {
		return nil, s.options.conflict(name, "the component does not exist any more")
	}
	if err != nil {
		return nil, err
	}
	s.examine(live)
	return live, nil
}

// Confirm reads a component from the API server before the first create of a pass. It returns a conflict if the pass
// no longer works for the stored component; see checkCurrent.
func (s *Store) Confirm(ctx context.Context, obj Object, recorded InventoryRef) error {
	live, err := s.Live(ctx, client.ObjectKeyFromObject(obj))
	if err != nil {
		return err
	}
	return s.checkCurrent(obj, live, recorded)
}

// checkCurrent returns a conflict if a newer version of a component differs from the version of a pass in a field that
// the pass depends on: UID, deletion, generation, finalizer, inventory record, or the named rendering and deletion
// phases. recorded is the inventory record that the pass began with. Other metadata and the author's part of the status
// may change at any time. The generation may change if the pass runs to completion, unless the component is suspended.
func (s *Store) checkCurrent(obj, newer Object, recorded InventoryRef) error {
	name, ours := client.ObjectKeyFromObject(obj), s.options.Finalizers
	switch {
	case newer.GetUID() != obj.GetUID():
		return s.options.conflict(name, "the component was deleted and created again")
	case newer.GetDeletionTimestamp().IsZero() != obj.GetDeletionTimestamp().IsZero():
		return s.options.conflict(name, "the component is being deleted")
	case newer.GetGeneration() != obj.GetGeneration() && (!s.passes.RunsToCompletion(name) || Suspended(newer)):
		return s.options.conflict(name, "the component's spec changed")
	case ours.Holds(obj) && !ours.Holds(newer):
		return s.options.conflict(name, "the component's finalizer was removed")
	case !recorded.Equal(RefOf(newer.GetStatus())):
		return s.options.conflict(name, "the component's inventory record changed")
	case s.passes.namesOther(name, newer.GetStatus()):
		return s.options.conflict(name, "another operator process stored a rendering or deletion phases")
	}
	return nil
}

// write calls send with the stored component. The function send must change the component and send it with its resource
// version as the precondition. If another client wrote the component in between, write reads the component and calls
// send again. It returns a conflict if the pass no longer works for the stored component (see checkCurrent), or after
// the last retry. It sets the new resource version and finalizers in obj.
func (s *Store) write(ctx context.Context, obj Object, recorded InventoryRef, send func(stored Object) error) error {
	name := client.ObjectKeyFromObject(obj)
	if err := s.owners.VerifyCluster(ctx, name); err != nil {
		return err
	}
	stored, err := s.loadExisting(ctx, name)
	for retry := 0; ; retry++ {
		if err != nil {
			return err
		}
		if err := s.checkCurrent(obj, stored, recorded); err != nil {
			return err
		}
		err = send(stored)
		if err == nil {
			s.keepWrite(stored)
			s.passes.written(name, stored.GetStatus())
			obj.SetResourceVersion(stored.GetResourceVersion())
			obj.SetFinalizers(slices.Clone(stored.GetFinalizers()))
			return nil
		}
		if !apierrors.IsConflict(err) || retry == maxRetries {
			return err
		}
		stored, err = s.reload(ctx, name, retry)
	}
}

// reload reads a component after a conflict. If several clients write at the same time, only one write succeeds. Random
// pauses that grow with each retry let every client succeed in the end.
func (s *Store) reload(ctx context.Context, name types.NamespacedName, retry int) (Object, error) {
	if retry > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(backoff.Within(pauses.After(retry))):
		}
	}
	return s.Live(ctx, name)
}

// keepWrite stores a copy of a written component in memory, until the cache contains this version or a newer version.
func (s *Store) keepWrite(stored Object) {
	if written, err := copyOf(stored); err == nil {
		s.options.States.Of(client.ObjectKeyFromObject(stored)).keepWrite(written)
	}
}

// WriteStatus writes the status of a component. It does not change the stored author's part of the status. If the
// record of the dependents changed, it gets the next number. recorded is the inventory record of the stored status. A
// conflict means that the pass must end.
func (s *Store) WriteStatus(ctx context.Context, obj Object, recorded InventoryRef) error {
	status := obj.GetStatus()
	err := s.write(ctx, obj, recorded, func(stored Object) error {
		status.Conditions = withAuthorConditions(status.Conditions, stored.GetStatus().Conditions)
		if err := s.sendStatus(ctx, stored, status); err != nil {
			return err
		}
		// The sent status is kept instead of the status in the response. The CRD may be an older version, and the API
		// server drops fields that the CRD does not define. If the response were kept, every pass would find a
		// difference and write again.
		*stored.GetStatus() = *status.DeepCopy()
		return nil
	})
	if err == nil {
		s.options.StatusWritten(client.ObjectKeyFromObject(obj), status)
	}
	return err
}

// sendStatus sends a status with a stored component, under the field owner of the reconciler. It numbers the record in
// the status, and notes which record the API server has stored. stored then has the response.
func (s *Store) sendStatus(ctx context.Context, stored Object, status *metav1alpha1.Status) error {
	state := s.options.States.Of(client.ObjectKeyFromObject(stored))
	sent := status.DeepCopy()
	number(sent, stored.GetStatus(), state.lastNumber(stored.GetUID()))
	*stored.GetStatus() = *sent
	if err := s.options.Client.Status().Update(ctx, stored, client.FieldOwner(s.options.FieldOwners[0])); err != nil {
		return err
	}
	if _, _, doubted := cutMark(status); doubted {
		return nil
	}
	status.InventoryWrites, status.RecordDigest = sent.InventoryWrites, sent.RecordDigest
	if isUndefined(stored, "recordDigest") {
		stored.GetStatus().InventoryWrites, stored.GetStatus().RecordDigest = 0, ""
	}
	state.noteRecord(stored)
	return nil
}

// AnnounceRecord prepares a component for its first inventory record in Secrets. It adds the finalizer, so that a
// deletion waits for the reconciler, and writes an empty status.inventoryRecord, so that the deletion searches for
// Secrets. It must be called before the first Secret is created. recorded is the inventory record of the stored status.
// If that record is in Secrets already, the status is not written. The error is terminal if the CRD does not define the
// field.
func (s *Store) AnnounceRecord(ctx context.Context, obj Object, recorded InventoryRef) error {
	if obj.GetDeletionTimestamp().IsZero() {
		if err := s.addFinalizer(ctx, obj, recorded); err != nil {
			return err
		}
	}
	if recorded.Secrets().Name != "" {
		return nil
	}
	return s.write(ctx, obj, recorded, func(stored Object) error {
		if stored.GetStatus().InventoryRecord != nil {
			return nil
		}
		announced := stored.GetStatus().DeepCopy()
		announced.InventoryRecord = &metav1alpha1.InventoryRecord{}
		if err := s.sendStatus(ctx, stored, announced); err != nil {
			return err
		}
		if !isUndefined(stored, "inventoryRecord") {
			return nil
		}
		return s.confirmAnnounced(ctx, client.ObjectKeyFromObject(obj))
	})
}

// confirmAnnounced returns a terminal error if the stored status of a component has no field inventoryRecord.
func (s *Store) confirmAnnounced(ctx context.Context, name types.NamespacedName) error {
	live, err := s.Live(ctx, name)
	if err != nil || live.GetStatus().InventoryRecord != nil {
		return err
	}
	return &passerror.Error{
		Reason: metav1alpha1.ReasonInvalidManifests, Terminal: true,
		Message: fmt.Sprintf("the inventory is too large for the status, and the CustomResourceDefinition of %s has no "+
			"field status.inventoryRecord; update the CustomResourceDefinition", s.options.GVK.Kind),
	}
}

// AddFinalizer adds the reconciler's finalizer to a component that lacks it, and removes its previous finalizers in the
// same write. A component that is being deleted keeps a previous finalizer instead. The status of obj must have the
// stored inventory record.
func (s *Store) AddFinalizer(ctx context.Context, obj Object) error {
	return s.addFinalizer(ctx, obj, RefOf(obj.GetStatus()))
}

func (s *Store) addFinalizer(ctx context.Context, obj Object, recorded InventoryRef) error {
	isKept := obj.GetDeletionTimestamp() != nil && s.options.Finalizers.Holds(obj)
	if isKept || s.options.Finalizers.IsCurrent(obj) {
		return nil
	}
	return s.changeFinalizers(ctx, obj, recorded, func(stored Object) {
		stored.SetFinalizers(append(s.options.Finalizers.Others(stored), s.options.Finalizers.Own))
	})
}

// RemoveFinalizer removes the reconciler's finalizers from a component. The status of obj must have the stored
// inventory record. The error is NotFound if the component does not exist any more.
func (s *Store) RemoveFinalizer(ctx context.Context, obj Object) error {
	return s.changeFinalizers(ctx, obj, RefOf(obj.GetStatus()), func(stored Object) {
		stored.SetFinalizers(s.options.Finalizers.Others(stored))
	})
}

func (s *Store) changeFinalizers(
	ctx context.Context, obj Object, recorded InventoryRef, change func(stored Object),
) error {
	return s.write(ctx, obj, recorded, func(stored Object) error {
		base, err := copyOf(stored)
		if err != nil {
			return err
		}
		if change(stored); slices.Equal(base.GetFinalizers(), stored.GetFinalizers()) {
			return nil
		}
		patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
		return s.options.Client.Patch(ctx, stored, patch)
	})
}

// Conflict returns the error of a pass whose component was changed by another client. It interrupts the pass.
func (s *Store) Conflict(name types.NamespacedName, cause string) error {
	return s.options.conflict(name, cause)
}

// Persisted returns the status that the API server has stored: the status that this pass wrote last, or, before its
// first write, the status loaded that the pass began with.
func (s *Store) Persisted(obj Object, loaded *metav1alpha1.Status) *metav1alpha1.Status {
	written := s.options.States.Known(client.ObjectKeyFromObject(obj)).lastWrite()
	if written != nil && written.GetResourceVersion() == obj.GetResourceVersion() {
		return written.GetStatus().DeepCopy()
	}
	return loaded
}

// DropWrite removes the last written component from memory if the cache has caught up with it. cached is the component
// in the cache.
func (s *Store) DropWrite(cached client.Object) {
	if state := s.options.States.Known(client.ObjectKeyFromObject(cached)); state != nil {
		state.dropWrite(cached)
	}
}

// EndPass ends a pass. It removes the last written component from memory if the cache has caught up with it. Otherwise
// DropWrite removes it at a later watch event of the cache.
func (s *Store) EndPass(ctx context.Context, name types.NamespacedName, pass *InFlight) {
	pass.End()
	if s.options.States.Known(name).lastWrite() == nil {
		return
	}
	cached, err := s.options.New()
	if err == nil && s.options.Client.Get(ctx, name, cached) == nil {
		s.DropWrite(cached)
	}
}
