package applier

import (
	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ChangeOf returns the change that an action makes. An adoption has the verb Adopt, whatever the verb of the action.
func ChangeOf(a plan.Action) outcome.Change {
	verb := string(a.Verb)
	switch {
	case a.Verb == plan.VerbCreateNamespace:
		verb = string(plan.VerbCreate)
	case a.Reason.Adopts():
		// Users must see every adoption in the changes, whichever verb writes the object.
		verb = "Adopt"
	}
	return outcome.Change{Verb: verb, Key: a.Key, Wave: a.Wave, Reason: string(a.Reason)}
}

// OutcomeOf returns the outcome of a pass whose last plan has no actions left.
func OutcomeOf(p plan.Plan, changes []outcome.Change) outcome.Outcome {
	o := outcome.Outcome{
		Phase: p.Phase, Skipped: p.Skipped, Inventory: p.Inventory.Sorted(), Applied: p.Applied,
		Ready: p.Ready, Desired: p.Desired, Changes: changes, NextDue: p.NextDue,
	}
	for _, w := range p.Waiting {
		waiting := outcome.Waiting{
			DependentReport: metav1alpha1.DependentReport{
				Dependent: w.Key.String(), Wave: int32(w.Wave), Reason: string(w.Reason), Message: w.Message,
			},
			Failed:   w.Failure != nil,
			Terminal: w.Failure != nil && w.Failure.Class == plan.Terminal,
		}
		if w.UID != "" {
			waiting.Key, waiting.UID, waiting.Generation = w.Key, w.UID, w.Generation
		}
		o.Waiting = append(o.Waiting, waiting)
	}
	for _, c := range p.RepairConflicts {
		o.RepairConflicts = append(o.RepairConflicts, metav1alpha1.DependentReport{
			Dependent: c.Key.String(), Wave: int32(c.Wave), Reason: string(plan.WaitRepairConflict), Message: c.Message,
		})
	}
	for _, b := range p.Blocked {
		o.Blocked = append(
			o.Blocked,
			outcome.Blocked{
				Type:  b.Type.String(),
				Count: b.Foreign.Count,
				Names: b.Foreign.Names,
				Error: b.Foreign.Message(),
			},
		)
	}
	return o
}

// Fold stores the result of an action in results. If the action wrote its object, Fold returns changes with that write
// appended, otherwise unchanged.
func Fold(
	results map[manifests.Key]plan.Result,
	a plan.Action,
	r plan.Result,
	changes []outcome.Change,
) []outcome.Change {
	r.Attempts = results[a.Key].Attempts + 1
	if r.Observed == nil && r.Failure == nil {
		r.Observed = results[a.Key].Observed
	}
	results[a.Key] = r
	if r.Failure == nil && r.Verb == a.Verb && a.Verb.Writes() {
		return append(changes, ChangeOf(a))
	}
	return changes
}
