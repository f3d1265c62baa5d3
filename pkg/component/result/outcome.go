package result

import (
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Outcome is the result of a pass.
type Outcome struct {
	// Inventory is the inventory to write. Inventory is nil if the pass ended with an error; the last written inventory
	// stays.
	Inventory []metav1alpha1.InventoryEntry
	// Observed are the desired objects that are only read, by the reconcile policy observe. They are not in Inventory.
	Observed []metav1alpha1.InventoryEntry
	// LeftOut are the first ten objects of Pass.Desired that are not applied because their condition include-when or
	// active-when is false. The message contains the condition, and the values that it read. It never contains values of
	// Secrets.
	LeftOut []metav1alpha1.DependentReport
	// Applied is set if all desired objects have been applied.
	Applied bool
	// Ready is the number of ready dependents, and Desired the number of desired dependents.
	Ready, Desired int
	// Observing is set if the initial list of a watch has not been completed. The pass then wrote nothing, and Wake is
	// called later.
	Observing bool
	// Waiting are the dependents that are not ready yet, that are not deleted yet, or that failed. Waiting is empty
	// when all work is done.
	Waiting []Waiting
	// RepairConflicts are the dependents with a repair conflict: another client reverts the repairs of the reconciler.
	// Either the next repair is delayed, or the last repair is too recent to know that the conflict is over. A
	// dependent with a repair conflict is not counted as ready. A dependent with a repair conflict is also in Waiting
	// if it does not exist at the moment.
	RepairConflicts []metav1alpha1.DependentReport
	// Blocked are the managed types whose foreign instances block a deletion. If there are such types, nothing was
	// deleted.
	Blocked []Blocked
	// Unwatched are the types of dependents that cannot be watched. Drift and readiness of such dependents are detected
	// only when the next pass reads them.
	Unwatched []Unwatched
	// Phase is the current phase of a deletion. Skipped are the objects of deletion phases that could not be applied
	// because the namespace of the object is being deleted.
	Phase   manifests.Phase
	Skipped []manifests.Key
	// Changes are the writes that the pass made, in order.
	Changes []Change
	// NextDue is the time of the next pass if no watch event starts a pass earlier. NextDue is zero if only a watch
	// event starts the next pass.
	NextDue time.Time
}

// Done reports whether there is nothing left to do and nothing to wait for.
func (o Outcome) Done() bool { return !o.Observing && len(o.Waiting) == 0 && len(o.Blocked) == 0 }
