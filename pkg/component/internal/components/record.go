package components

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
)

// The record of the dependents is the part of a status that RecordDigest covers. The reconciler gives each record that
// it writes a number and a checksum. Nobody can change the record and keep the checksum, so the field manager that owns
// the checksum wrote the record. The field manager of the other fields shows less, because an update with an equal
// value does not change the field manager.

// doubtMark begins the record digest of a status in memory whose record this reconciler did not write, or not last. The
// stored digest and the reason follow, separated by a space. A mark is not sent to the API server.
const doubtMark = "doubt:"

// maxNumber is the maximum number of a record that the next number follows. A larger number was written by another
// client, and could not be increased.
const maxNumber = 1 << 53

// maxCause is the maximum length of the reason in a mark, in bytes. Another client may have chosen a part of it.
const maxCause = 200

// recordForm is the form of the checksums that RecordDigest returns. They begin with it and a colon. Checksums of the
// first form have no such text, and do not cover the target.
const recordForm = 2

// RecordDigest returns the checksum of the record of a status. The lines of the inventory are covered by their digest.
// The name of the Secret with the kubeconfig is not covered, because each pass compares it with the declared name.
func RecordDigest(status *metav1alpha1.Status) string {
	digest, err := digests.Of(append(fieldsOfFirstForm(status),
		status.TargetCluster, status.TargetNamespace, status.TargetName))
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d:%s", recordForm, digest)
}

// fieldsOfFirstForm returns the fields that a checksum of the first form covers.
func fieldsOfFirstForm(status *metav1alpha1.Status) []any {
	pinned := ""
	if status.RenderedSet != "" {
		pinned = status.RenderedSet + " " + status.InputDigest
	}
	return []any{
		status.InventoryWrites, status.InventoryDigest, status.InventoryRecord, status.PhaseRecord, pinned,
		slices.Concat([]string{}, status.ManagedTypes),
	}
}

// matches reports whether the checksum of a record matches the record. A checksum of a later form, which a newer
// version wrote, cannot be checked and counts as matching; the field manager shows whether another client wrote it.
func matches(status *metav1alpha1.Status) bool {
	text, _, isLater := strings.Cut(status.RecordDigest, ":")
	if !isLater {
		digest, err := digests.Of(fieldsOfFirstForm(status))
		return err == nil && digest == status.RecordDigest
	}
	if form, err := strconv.Atoi(text); err == nil && form > recordForm {
		return true
	}
	return RecordDigest(status) == status.RecordDigest
}

// IsCopy reports whether a record in doubt is a copy of a previous record of the same component: its checksum matches,
// and covers the target.
func IsCopy(component Object) bool {
	status := *component.GetStatus()
	status.RecordDigest, _, _ = cutMark(&status)
	return RecordDigest(&status) == status.RecordDigest && !WrittenForAnother(component)
}

// Doubt returns why the record of a loaded status must not be believed, or an empty text. A record without a number was
// written by a version that did not count, and is believed.
func Doubt(status *metav1alpha1.Status) string {
	_, cause, _ := cutMark(status)
	return cause
}

// Believe removes the doubt about the record of a component. The next WriteStatus gives the record a new number, so
// that the reconciler becomes its owner. The caller must have searched the dependents. cluster is the id of the cluster
// of the component.
func Believe(component Object, cluster string) {
	status := component.GetStatus()
	if Doubt(status) == "" {
		return
	}
	status.RecordDigest = ""
	if id := Identity(cluster, component.GetUID()); status.Identity != id {
		// The exports and the generation are those of a component in a backup.
		status.Identity, status.Exports, status.AppliedGeneration = id, nil, 0
	}
}

// isNumbered reports whether the record of a status has a number or a checksum.
func isNumbered(status *metav1alpha1.Status) bool {
	return status.InventoryWrites != 0 || status.RecordDigest != ""
}

// hasRecord reports whether there is anything to number in a status.
func hasRecord(status *metav1alpha1.Status) bool {
	return status.InventoryDigest != "" || status.InventoryRecord != nil || status.PhaseRecord != "" ||
		status.RenderedSet != "" || len(status.ManagedTypes) > 0
}

func mark(status *metav1alpha1.Status, cause string) {
	if _, _, marked := cutMark(status); marked {
		return
	}
	status.RecordDigest = doubtMark + status.RecordDigest + " " + passerror.Truncate(cause, maxCause)
}

// cutMark returns the stored record digest of a status, and the reason of its mark.
func cutMark(status *metav1alpha1.Status) (stored, cause string, marked bool) {
	text, marked := strings.CutPrefix(status.RecordDigest, doubtMark)
	if !marked {
		return status.RecordDigest, "", false
	}
	stored, cause, _ = strings.Cut(text, " ")
	return stored, cause, true
}

// number gives the record of a status that is about to be written the next number, if the record differs from its
// checksum. A record in doubt keeps its number and its stored checksum, so that it stays in doubt. stored is the stored
// status, and last is the last number that this process knows.
func number(status, stored *metav1alpha1.Status, last int64) {
	if digest, _, marked := cutMark(status); marked {
		status.RecordDigest = digest
		return
	}
	for _, n := range []int64{status.InventoryWrites, stored.InventoryWrites} {
		if n <= maxNumber {
			last = max(last, n)
		}
	}
	isFirst := last == 0 && !isNumbered(status)
	isCurrent := status.InventoryWrites == last && RecordDigest(status) == status.RecordDigest
	if isFirst && !hasRecord(status) || !isFirst && isCurrent {
		return
	}
	status.InventoryWrites = last + 1
	status.RecordDigest = RecordDigest(status)
}

// foreignManager returns why the managed fields of a component show that another client wrote its record, or an empty
// text. It returns an empty text if the manager is not known, because the cache dropped the managed fields, or because
// the API server joined the entries of many managers.
func foreignManager(component Object, ours []string) string {
	entries := component.GetManagedFields()
	if len(entries) == 0 || len(ours) == 0 || component.GetStatus().RecordDigest == "" {
		return ""
	}
	var others []string
	for _, e := range entries {
		if !inspect.OwnsStatusField(e, "recordDigest") {
			continue
		}
		if slices.Contains(ours, e.Manager) || e.Manager == inspect.AncientManager {
			return ""
		}
		others = append(others, e.Manager)
	}
	if len(others) == 0 {
		return "its managed fields name no writer"
	}
	return fmt.Sprintf("%q wrote it", strings.Join(others, ", "))
}

// knownRecord identifies the record of a component that this process wrote or believed last.
type knownRecord struct {
	uid             types.UID
	resourceVersion string
	writes          int64
	digest          string
}

// lastNumber returns the last number of the record of a component that this process knows; zero if there is none. m may
// be nil.
func (m *State) lastNumber(uid types.UID) int64 {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.record.uid != uid {
		return 0
	}
	return m.record.writes
}

// isKnown reports whether this process wrote or believed the record of this very version of a component. After a write
// the status in memory may have a number that the API server dropped. m may be nil.
func (m *State) isKnown(component Object) bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.record.uid == component.GetUID() && m.record.resourceVersion != "" &&
		m.record.resourceVersion == component.GetResourceVersion()
}

// noteRecord stores which record a component has, unless the record of this or of a newer version of the component is
// stored already. m may be nil.
func (m *State) noteRecord(component Object) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	status, last := component.GetStatus(), m.record
	if last.uid == component.GetUID() && !inspect.Newer(component.GetResourceVersion(), last.resourceVersion) {
		return
	}
	m.record = knownRecord{
		component.GetUID(), component.GetResourceVersion(), status.InventoryWrites, status.RecordDigest,
	}
}

// replaced returns why the record of a component is not the known one or a later one, or an empty text. m may be nil.
func (m *State) replaced(component Object) string {
	if m == nil {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	known, status := m.record, component.GetStatus()
	if known.uid != component.GetUID() || known.writes == 0 ||
		inspect.Newer(known.resourceVersion, component.GetResourceVersion()) {
		return ""
	}
	switch {
	case !isNumbered(status):
		return "its number was removed"
	case status.InventoryWrites < known.writes, status.InventoryWrites == known.writes && status.RecordDigest != known.digest:
		return fmt.Sprintf("it has the number %d, and the last one had the number %d", status.InventoryWrites, known.writes)
	}
	return ""
}

// WrittenForAnother reports whether the status of a component names another component of the same name, because it
// comes from a backup.
func WrittenForAnother(component Object) bool {
	_, uid, written := strings.Cut(component.GetStatus().Identity, "/")
	return written && uid != string(component.GetUID())
}

// restored returns why the status of a component was not written for it, or an empty text.
func restored(component Object) string {
	if !isNumbered(component.GetStatus()) || !WrittenForAnother(component) {
		return ""
	}
	return "the status was written for another component of the same name"
}

// WroteField reports whether the stored managed fields of a component show that this reconciler wrote a field of the
// status, or show nothing about it because there are none.
func (s *Store) WroteField(ctx context.Context, name types.NamespacedName, field string) (bool, error) {
	live, err := s.Live(ctx, name)
	if err != nil {
		return false, err
	}
	entries := live.GetManagedFields()
	return len(entries) == 0 || slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		isOurs := slices.Contains(s.options.FieldOwners, e.Manager) || e.Manager == inspect.AncientManager
		return isOurs && inspect.OwnsStatusField(e, field)
	}), nil
}

// isUndefined reports whether the response to a write of the status shows that the API server dropped a field of it,
// because its CustomResourceDefinition is older. The response is decoded into the object that was sent, so a field that
// it lacks keeps the sent value; its managed fields name the manager of each stored field. isUndefined returns false if
// there are no managed fields.
func isUndefined(response Object, field string) bool {
	entries := response.GetManagedFields()
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return inspect.OwnsStatusField(e, field)
	})
}

// examine marks the status of a component if its record must not be believed. Otherwise it notes the record.
func (s *Store) examine(component Object) {
	state := s.options.States.Known(client.ObjectKeyFromObject(component))
	if cause := s.doubt(component, state); cause != "" {
		mark(component.GetStatus(), cause)
		return
	}
	state.noteRecord(component)
}

func (s *Store) doubt(component Object, state *State) string {
	status := component.GetStatus()
	if cause := Doubt(status); cause != "" || state.isKnown(component) {
		return cause
	}
	if isNumbered(status) && !matches(status) {
		return "its fields do not match the checksum in recordDigest"
	}
	if cause := foreignManager(component, s.options.FieldOwners); cause != "" {
		return cause
	}
	if cause := restored(component); cause != "" {
		return cause
	}
	return state.replaced(component)
}

// IsDoubted reports whether the record of a component must not be believed, because another client wrote it. It returns
// false for objects that are not components.
func (s *Store) IsDoubted(obj client.Object) bool {
	component, ok := obj.(Object)
	return ok && s.doubt(component, s.options.States.Known(client.ObjectKeyFromObject(obj))) != ""
}
