package inventory

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// maxFallback is the maximum size, in bytes, of an inventory that is written into the status if the component is being
// deleted and Secrets cannot be written.
const maxFallback = 384 << 10

// fallBack keeps the inventory of a component that is being deleted if the API server forbids writes of Secrets. The
// deletion must continue, because often the rights are missing only because the namespace is being deleted. The
// inventory only shrinks in a deletion. fallBack uses the first possible place of these:
//   - the status, up to maxFallback;
//   - the inventory that is stored already, if it contains all entries that are left;
//   - memory only, if the namespace is being deleted, because no right can be granted in it any more. After a restart,
//     the remaining objects are found by their labels.
//
// fallBack returns false if no place is possible. Then the deletion has to wait until somebody grants the right to
// write Secrets.
func (s *Store) fallBack(
	obj components.Object, entries []metav1alpha1.InventoryEntry, namespaceGoes func() bool,
) bool {
	st, state := obj.GetStatus(), s.state(obj)
	lines, size := linesOf(entries)
	if size <= maxFallback {
		enterLines(st, lines, components.InventoryDigest(lines))
		return true
	}
	if known := state.lookup(st); known != nil && !known.dropped && hasAll(known.lines, entries) {
		// Only the lines in memory are replaced. The recorded inventory still contains entries of objects that no longer
		// exist.
		newer := *known
		newer.lines = lines
		state.setCurrent(newer)
		return true
	}
	if !namespaceGoes() {
		return false
	}
	// The status gets a digest but no lines. The process after a restart treats this as a damaged inventory, and recovers
	// it from the labels of the objects.
	digest := components.InventoryDigest(lines)
	st.Inventory, st.InventoryRecord, st.InventoryDigest = nil, &metav1alpha1.InventoryRecord{}, digest
	state.setCurrent(cached{digest: digest, lines: lines})
	return true
}

// namespaceGoes reports whether the namespace of the records is being deleted. refusal is the error of a refused
// request for a record in this namespace.
func (s *Store) namespaceGoes(ctx context.Context, obj components.Object, refusal error) bool {
	owner := s.Owners.Known(client.ObjectKeyFromObject(obj))
	return apierrors.HasStatusCause(refusal, corev1.NamespaceTerminatingCause) ||
		s.Records.Unreachable(ctx, owner, refusal)
}

// hasAll reports whether the lines of an inventory contain an entry for each object that has an entry in entries.
func hasAll(lines []string, entries []metav1alpha1.InventoryEntry) bool {
	recorded, err := metav1alpha1.ParseInventory(lines)
	if err != nil {
		return false
	}
	byKey := plan.NewInventory(recorded)
	return !slices.ContainsFunc(entries, func(e metav1alpha1.InventoryEntry) bool {
		_, ok := byKey[plan.KeyOf(e)]
		return !ok
	})
}
