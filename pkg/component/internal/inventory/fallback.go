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

// maxFallback is the size of the largest inventory, in bytes, that is written into the status of a component that is
// being deleted if Secrets cannot be written.
const maxFallback = 384 << 10

// fallBack keeps the inventory of a component that is being deleted if the API server forbids writes of Secrets. The
// deletion must go on, because often the namespace is being deleted, and with it the rights. The inventory only shrinks
// in a deletion. The first choice that fits is taken:
//   - the status, up to maxFallback;
//   - the inventory that is recorded already, if it contains all entries that are left;
//   - memory only, if the namespace is being deleted: no right can be granted there any more. After a restart, the
//     objects that are left are found by their labels.
//
// It returns false if no choice fits. Then the deletion has to wait until somebody grants the right to write Secrets.
func (s *Store) fallBack(
	obj components.Object, entries []metav1alpha1.InventoryEntry, namespaceGoes func() bool,
) bool {
	st, memory := obj.GetStatus(), s.memory(obj)
	lines, size := linesOf(entries)
	if size <= maxFallback {
		enterLines(st, lines, components.InventoryDigest(lines))
		return true
	}
	if known := memory.lookup(st); known != nil && hasAll(known.lines, entries) {
		// Only the lines in memory are replaced. The recorded inventory still has entries of objects that are gone.
		newer := *known
		newer.lines = lines
		memory.setCurrent(newer)
		return true
	}
	if !namespaceGoes() {
		return false
	}
	// The status gets a digest and no lines, which counts as a damaged inventory. So after a restart, which loses the
	// lines in memory, the inventory is recovered by labels.
	digest := components.InventoryDigest(lines)
	st.Inventory, st.InventoryRecord, st.InventoryDigest = nil, &metav1alpha1.InventoryRecord{}, digest
	memory.setCurrent(cached{digest: digest, lines: lines})
	return true
}

// namespaceGoes reports whether the namespace of the records is being deleted, in which a request about a record was
// refused.
func (s *Store) namespaceGoes(ctx context.Context, obj components.Object, refusal error) bool {
	owner := s.Owners.Known(client.ObjectKeyFromObject(obj))
	return apierrors.HasStatusCause(refusal, corev1.NamespaceTerminatingCause) ||
		s.Records.Unreachable(ctx, owner, refusal)
}

// hasAll reports whether the lines have an entry for the object of each of the entries.
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
