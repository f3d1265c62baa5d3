package outcome

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Outcome is the result of a pass.
type Outcome struct {
	// Inventory is the record to persist. It is nil if the pass ended with an error; the last recorded inventory stays.
	Inventory []metav1alpha1.InventoryEntry
	// Applied is set if the API server has the whole apply set.
	Applied bool
	// Ready and Desired count dependents.
	Ready, Desired int
	// Observing is set if the first list of a watch is still under way. The pass wrote nothing then.
	Observing bool
	// Waiting are the dependents that are not ready, not gone, or failed.
	Waiting []Waiting
	// RepairConflicts are the dependents with a repair conflict: another client reverts the repairs, and the next repair
	// is delayed. They do not count as ready. Those dependents among them that do not exist are also in Waiting.
	RepairConflicts []metav1alpha1.DependentReport
	// Blocked are the managed types with foreign instances. Nothing is deleted while the list is not empty.
	Blocked []Blocked
	// Unwatched are types that cannot be watched.
	Unwatched []Unwatched
	// Phase is the current phase of a deletion. Skipped are objects of phases in a namespace that is being deleted.
	Phase   manifests.Phase
	Skipped []manifests.Key
	// Changes are the writes of the pass, in order.
	Changes []Change
	// NextDue is the time of the next pass if no event comes before; zero without such a time.
	NextDue time.Time
	// Created are the entries of all dependents for which a create was sent, whatever the answer.
	Created plan.Inventory
	// Unsearched says where the recovery of a lost inventory could not look for dependents; empty if it looked
	// everywhere.
	Unsearched string
}

// Waiting is a dependent that holds the component up.
type Waiting struct {
	metav1alpha1.DependentReport
	// Key, UID and Generation identify the live object if it is applied and not ready. They are empty otherwise.
	Key        manifests.Key
	UID        types.UID
	Generation int64
	// Failed is set if the last request or the dependent itself failed; Terminal if a retry cannot help.
	Failed, Terminal bool
}

// Blocked is a managed type with foreign instances.
type Blocked struct {
	Type string
	// Count is the number of instances, and Names the first ten. Error is the reason why they could not be listed.
	Count int
	Names []string
	Error string
}

// Unlisted reports whether the instances could not be listed, so that no watch can end the wait.
func (b Blocked) Unlisted() bool { return b.Error != "" }

// Unwatched is a type that cannot be watched, with the cause and the remedy.
type Unwatched struct {
	Type, Message string
}

// Change is a write of a dependent.
type Change struct {
	Verb   string
	Key    manifests.Key
	Wave   int
	Reason string
}

// Done reports whether there is nothing left to do and nothing to wait for.
func (o Outcome) Done() bool { return !o.Observing && len(o.Waiting) == 0 && len(o.Blocked) == 0 }

// Failures returns in failed the dependents that failed, and in terminal the failed dependents that a retry cannot
// help.
func (o Outcome) Failures() (failed, terminal []Waiting) {
	for _, w := range o.Waiting {
		if w.Failed {
			failed = append(failed, w)
		}
		if w.Terminal {
			terminal = append(terminal, w)
		}
	}
	return failed, terminal
}

// Reports returns the dependents that keep the component from being ready, each once.
func (o Outcome) Reports() []metav1alpha1.DependentReport {
	reports, listed := make([]metav1alpha1.DependentReport, 0, len(o.Waiting)), map[string]bool{}
	for _, w := range o.Waiting {
		reports = append(reports, w.DependentReport)
		listed[w.Dependent] = true
	}
	for _, c := range o.RepairConflicts {
		if !listed[c.Dependent] {
			reports = append(reports, c)
		}
	}
	return reports
}
