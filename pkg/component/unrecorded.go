package component

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// maxLastInventory is how much text of an inventory, in bytes, a status holds in a deletion that may not write Secrets.
const maxLastInventory = 384 << 10

// keepElsewhere records an inventory in a deletion whose Secrets were refused, such as in a namespace that goes with the component: in the status,
// where it takes a little more than else, or not at all, where the record that there is has all that is left. In a namespace that is being deleted,
// which ending says, a deletion goes on without a record: nothing could make room for one, and what is left is found by its label.
func (r *Reconciler[T]) keepElsewhere(component T, inventory []metav1alpha1.InventoryEntry, ending func() bool) bool {
	status, name := component.GetStatus(), client.ObjectKeyFromObject(component)
	lines, size := inventoryText(inventory)
	if size <= maxLastInventory {
		enterLines(status, lines, components.InventoryDigest(lines))
		return true
	}
	known := r.shelvedAs(name, status)
	if known != nil && hasAll(known.lines, inventory) {
		// What is left is known better than it is recorded.
		current := *known
		current.lines = lines
		r.shelve(name, shelf{current: &current})
		return true
	}
	if !ending() {
		return false
	}
	// A digest without what it was made of is that of a record that is lost: who knows less looks for the dependents again.
	status.Inventory, status.InventoryRecord, status.InventoryDigest = nil, &metav1alpha1.InventoryRecord{}, components.InventoryDigest(lines)
	r.shelve(name, shelf{current: &shelved{digest: status.InventoryDigest, lines: lines}})
	return true
}

// goesWithRecords says that a request about a record was refused because its namespace is being deleted, or that nobody is going to allow it in
// such a one.
func (r *Reconciler[T]) goesWithRecords(ctx context.Context, component T, refused error) bool {
	return apierrors.HasStatusCause(refused, corev1.NamespaceTerminatingCause) ||
		r.records.Unreachable(ctx, r.owners.Known(client.ObjectKeyFromObject(component)), refused)
}

// hasAll says that a record has an entry for each of an inventory, whatever these say.
func hasAll(lines []string, inventory []metav1alpha1.InventoryEntry) bool {
	recorded, err := metav1alpha1.ParseInventory(lines)
	if err != nil {
		return false
	}
	keys := plan.NewInventory(recorded)
	return !slices.ContainsFunc(inventory, func(e metav1alpha1.InventoryEntry) bool {
		_, ok := keys[plan.KeyOf(e)]
		return !ok
	})
}

// unrecorded returns the lines of an inventory that could be recorded nowhere, nil where this process does not know it.
func (r *Reconciler[T]) unrecorded(name types.NamespacedName, status *metav1alpha1.Status) []string {
	if status.HasInventoryRecord() || len(status.Inventory) > 0 {
		return nil
	}
	known := r.shelves.of(name).current
	if known == nil || known.secrets.Name != "" || known.digest != status.InventoryDigest {
		return nil
	}
	return known.lines
}
