package applier

import (
	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// OutcomeOf returns the outcome of a pass whose last plan contains no actions.
func OutcomeOf(p plan.Plan, changes []result.Change) outcome.Outcome {
	o := outcome.Outcome{Held: p.Held, Outcome: result.Outcome{
		Phase: p.Phase, Skipped: p.Skipped, Inventory: p.Inventory.Sorted(), Observed: p.Observed, Applied: p.Applied,
		Ready: p.Ready, Desired: p.Desired, Changes: changes, NextDue: p.NextDue, LeftOut: p.LeftOut,
	}}
	o.Waiting = Waiting(p.Waiting)
	for _, c := range p.RepairConflicts {
		o.RepairConflicts = append(o.RepairConflicts, metav1alpha1.DependentReport{
			Dependent: c.Key.String(), Wave: int32(c.Wave), Reason: string(plan.WaitRepairConflict), Message: c.Message,
		})
	}
	for _, b := range p.Blocked {
		var names []string
		for _, key := range b.Foreign.Keys {
			names = append(names, key.String())
		}
		o.Blocked = append(
			o.Blocked,
			result.Blocked{
				Type:  b.Type.String(),
				Count: b.Foreign.Count,
				Names: names,
				Error: b.Foreign.Message(),
			},
		)
	}
	return o
}

// Waiting returns the waits of a plan in the form of an outcome.
func Waiting(planned []plan.Waiting) []result.Waiting {
	var waiting []result.Waiting
	for _, w := range planned {
		wait := result.Waiting{
			DependentReport: metav1alpha1.DependentReport{
				Dependent: w.Key.String(), Wave: int32(w.Wave), Reason: string(w.Reason), Message: w.Message,
			},
			Failed:    w.Failure != nil,
			Terminal:  w.Failure != nil && w.Failure.Class == plan.Terminal,
			Refused:   w.Failure != nil && w.Failure.Inherent(),
			Purged:    w.Failure != nil && w.Failure.Cause == plan.CausePurged,
			Open:      w.Reason == plan.WaitOpenSet,
			Undefined: w.Undefined,
		}
		if w.Failure != nil {
			wait.Field = w.Failure.Field
		}
		if w.UID != "" {
			wait.Key, wait.UID, wait.Generation = w.Key, w.UID, w.Generation
		}
		waiting = append(waiting, wait)
	}
	return waiting
}

// Fold stores the result of an action in results. If the action wrote its object, Fold appends the write to changes.
// Fold returns changes.
func Fold(
	results map[manifests.Key]plan.Result,
	a plan.Action,
	r plan.Result,
	changes []result.Change,
) []result.Change {
	r.Attempts = results[a.Key].Attempts + 1
	if r.Observed == nil && r.Failure == nil {
		r.Observed = results[a.Key].Observed
	}
	results[a.Key] = r
	if r.Failure == nil && r.Verb == a.Verb && a.Verb.Writes() && !r.Started {
		return append(changes, outcome.ChangeOf(a))
	}
	return changes
}
