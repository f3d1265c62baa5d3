package components

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
)

// Update changes the metadata and the spec of a component. change gets the newest known version of the component. After
// a conflict, change is called again with the stored version. An error of change is returned unchanged. If change
// changes nothing, no request is sent. The following changes are ignored: the status, the reconciler's finalizers,
// and the fields of the metadata that only the API server sets. The request is a merge patch, so that fields which the
// type of the component does not have stay.
//
// After a successful write, obj has the written metadata, and Load returns the written version even while the cache is
// older. If the generation changed, obj also has the written spec, and an in-flight pass over the component ends. If
// the change needs a pass, the pass starts at once, and HoldBack recognises the watch event of the write.
func (s *Store) Update(ctx context.Context, obj Object, change func(Object) error) error {
	written, err := s.update(ctx, obj, func(stored Object) (Object, error) { return s.updateOnce(ctx, stored, change) })
	if err != nil {
		return err
	}
	return copyUpdated(obj, written)
}

// updateOnce changes a stored component and sends the changes, without retries. It returns the written component.
func (s *Store) updateOnce(ctx context.Context, stored Object, change func(Object) error) (Object, error) {
	before, err := copyOf(stored)
	if err != nil {
		return nil, err
	}
	if err := change(stored); err != nil {
		return nil, err
	}
	if err := s.protect(stored, before); err != nil {
		return nil, err
	}
	if equality.Semantic.DeepEqual(before, stored) {
		return stored, nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	data, err := patch.Data(stored)
	if err != nil {
		return nil, err
	}
	// The response is decoded into an empty component, because a decoder keeps fields that the response does not have.
	written, err := s.options.New()
	if err != nil {
		return nil, err
	}
	written.SetNamespace(before.GetNamespace())
	written.SetName(before.GetName())
	return written, s.send(ctx, before, written, client.RawPatch(patch.Type(), data))
}

// send sends a patch of a component, and starts a pass if the change needs one. The result is in written.
func (s *Store) send(ctx context.Context, before, written Object, patch client.Patch) error {
	name := client.ObjectKeyFromObject(before)
	state := s.options.States.Of(name)
	state.beginUpdate()
	err := s.options.Client.Patch(ctx, written, patch)
	needsPass := false
	if err == nil {
		needsPass = s.options.NeedsPass(before, written)
		// The status in the response may lack fields that an older CRD does not define; see WriteStatus.
		err = setStatus(written, before)
		s.keepWrite(written)
	}
	if state.endUpdate(written, needsPass) {
		s.options.Wake(name)
	}
	return err
}

// protect restores the fields of a changed component that Update does not change.
func (s *Store) protect(changed, before Object) error {
	changed.SetNamespace(before.GetNamespace())
	changed.SetName(before.GetName())
	changed.SetGenerateName(before.GetGenerateName())
	changed.SetUID(before.GetUID())
	changed.SetResourceVersion(before.GetResourceVersion())
	changed.SetGeneration(before.GetGeneration())
	changed.SetCreationTimestamp(before.GetCreationTimestamp())
	changed.SetDeletionTimestamp(before.GetDeletionTimestamp())
	changed.SetDeletionGracePeriodSeconds(before.GetDeletionGracePeriodSeconds())
	changed.SetManagedFields(before.GetManagedFields())
	changed.SetFinalizers(s.options.Finalizers.keep(changed.GetFinalizers(), before.GetFinalizers()))
	return setStatus(changed, before)
}

// setStatus replaces the status of a component by a copy of the status of another version.
func setStatus(obj, from Object) error {
	status := reflect.ValueOf(obj).Elem().FieldByName("Status")
	if !status.CanSet() {
		return fmt.Errorf("%T has no field Status", obj)
	}
	copied, err := copyOf(from)
	if err != nil {
		return err
	}
	status.Set(reflect.ValueOf(copied).Elem().FieldByName("Status"))
	return nil
}

// copyUpdated copies a written component into obj: the metadata, and, if the generation differs, the spec and all other
// fields except the status. The spec of an unchanged generation stays, because a hook may have filled in defaults.
func copyUpdated(obj, written Object) error {
	kept, err := copyOf(obj)
	if err != nil {
		return err
	}
	copied, err := copyOf(written)
	if err != nil {
		return err
	}
	if written.GetGeneration() != obj.GetGeneration() {
		reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(copied).Elem())
		return setStatus(obj, kept)
	}
	obj.SetLabels(copied.GetLabels())
	obj.SetAnnotations(copied.GetAnnotations())
	obj.SetFinalizers(copied.GetFinalizers())
	obj.SetOwnerReferences(copied.GetOwnerReferences())
	obj.SetManagedFields(copied.GetManagedFields())
	obj.SetResourceVersion(copied.GetResourceVersion())
	return nil
}

// HoldBack reports whether a watch event about a component that needs a pass starts none: it is the event of a write by
// Update, which started the pass, or it arrived while such a write is in flight. In the second case the pass starts at
// the end of the write, if the event is that of another write. delivered is the version of the component in the event.
func (s *Store) HoldBack(delivered client.Object) bool {
	state := s.options.States.Known(client.ObjectKeyFromObject(delivered))
	return state != nil && state.holdBack(delivered.GetResourceVersion())
}

// maxUpdates is the maximum number of updates of a component whose watch events are recognised.
const maxUpdates = 16

// updates are the writes of a component by Update. The lock of the component's State protects the fields.
type updates struct {
	// inFlight is the number of writes whose responses have not arrived.
	inFlight int
	// versions are the results of writes that started a pass and whose watch events have not arrived, the oldest first.
	versions []string
	// held are the versions of watch events that arrived while a write was in flight.
	held []string
}

func (m *State) beginUpdate() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.updates.inFlight++
}

// endUpdate ends a write and reports whether a pass must start: because of the write, or because of a watch event that
// was held back. written is the result of the write. needsPass is false for a write that failed. If the write
// supersedes the in-flight pass, that pass ends.
func (m *State) endUpdate(written Object, needsPass bool) (wake bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := &m.updates
	u.inFlight--
	if needsPass {
		u.versions = append(u.versions, written.GetResourceVersion())
		u.versions = u.versions[max(0, len(u.versions)-maxUpdates):]
		if newest := requestOf(written); m.pass != nil && (m.pass.newest == nil || newest.newer(m.pass.newest)) {
			m.pass.newest = newest
			m.pass.check()
		}
	}
	if u.inFlight > 0 {
		return needsPass
	}
	for _, version := range u.held {
		wake = !u.take(version) || wake
	}
	u.held = nil
	return wake || needsPass
}

func (m *State) holdBack(version string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.updates.inFlight > 0 {
		m.updates.held = append(m.updates.held, version)
		return true
	}
	return m.updates.take(version)
}

// take reports whether a version is the result of a write, and drops it together with all older versions.
func (u *updates) take(version string) bool {
	found := slices.Contains(u.versions, version)
	u.versions = slices.DeleteFunc(u.versions, func(v string) bool { return !inspect.Newer(v, version) })
	return found
}
