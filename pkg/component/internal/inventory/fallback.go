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

// fallBack keeps the inventory of a component that is being deleted if Secrets are refused. A deletion shrinks the
// inventory, and the refusal is often due to the deletion of the namespace. The first choice that fits is taken:
//   - the status, up to maxFallback;
//   - the recorded inventory, if it has all entries that are left;
//   - if the namespace is being deleted, memory only. Without a grant no record can be written there, and the objects
//     that are left are found by their labels.
//
// It returns false if the deletion has to wait for a grant.
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
		// The lines in memory are newer than the recorded ones.
		newer := *known
		newer.lines = lines
		memory.setCurrent(newer)
		return true
	}
	if !namespaceGoes() {
		return false
	}
	// With a digest and no lines the inventory counts as damaged. After a restart it is recovered by labels.
	digest := components.InventoryDigest(lines)
	st.Inventory, st.InventoryRecord, st.InventoryDigest = nil, &metav1alpha1.InventoryRecord{}, digest
	memory.setCurrent(cached{digest: digest, lines: lines})
	return true
}

// namespaceGoes reports whether a request about a record was refused because its namespace is being deleted, or in such
// a namespace.
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
