package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const (
	// MaxReports is the maximum number of waiting dependents, and the maximum number of types that block a removal, in
	// the status.
	MaxReports = 10
	// maxReport is the maximum length of the message about a waiting dependent, in bytes.
	maxReport = 1024
)

// Report is the result of a pass over a component. Next derives the new status from a Report.
type Report struct {
	// Component is the key of the component, for commands in messages.
	Component  manifests.Key
	Generation int64
	Deleting   bool
	Outcome    outcome.Outcome
	// Unreported are the adoptions of passes before that ended without a write of the status.
	Unreported []result.Change
	// Failure is the error that ended the pass, or nil if there was no error.
	Failure *passerror.Error
	// KeepCounts is set if the inventory of the outcome could not be written. With KeepCounts, the counts in the status
	// are not changed, so that they match the stored inventory.
	KeepCounts bool
	// Timeout is the time in which the component must become Ready; zero or less means no limit.
	Timeout time.Duration
	// Acknowledged is the value of the annotation that requested this pass, if the sender requested an acknowledgement
	// in the status. Acknowledged is empty if there is no such request.
	Acknowledged string
	// StaleInputs says for each event source without a current value since when and why, sorted by name.
	StaleInputs []string
	// Finalizers are the finalizers of the reconciler with other names than RECONCILER/finalizer.
	Finalizers []string
	Now        time.Time
}

// Next returns the status after a pass, and the result that is part of this status. before is the status without the
// result of the pass; Next does not change it.
func Next(before metav1alpha1.Status, r Report) (metav1alpha1.Status, PassResult) {
	next := withCurrentNames(before)
	if r.Outcome.Inventory != nil && !r.Outcome.Observing {
		if !r.KeepCounts {
			count(&next, r.Deleting, r.Outcome)
		}
		setRepairConflicts(&next, r)
		setOverridden(&next, r)
	}
	setComponents(&next, r.Failure)
	v := ResultOf(r.Component, r.Deleting, r.Outcome, r.Failure)
	if r.Failure != nil && r.Failure.Waits {
		// The timeout does not run while the component waits for another object, and starts when the wait ends.
		next.ProgressingSince = nil
	} else {
		v, next.ProgressingSince = v.WithTimeout(next.ProgressingSince, r.Timeout, r.Now)
	}
	setResult(&next, r.Generation, v, r.Now)
	if r.Outcome.Inventory != nil && !r.Outcome.Unrendered && !r.Deleting {
		// Without an inventory, the pass ended before it applied the revision. So only a pass with an inventory enters
		// the result of the revision into the history.
		next.History = enterResult(next.History, v, r.Now)
	}
	next.History = enterAdoptions(next.History, slices.Concat(r.Unreported, r.Outcome.Changes))
	setStaleInputs(&next, r)
	next.Finalizers = r.Finalizers
	if r.Acknowledged != "" {
		next.LastHandledReconcileAt = passerror.Truncate(r.Acknowledged, MaxSource)
	}
	return next, v
}

// Recorded returns the status for the write of the inventory before the first create of a pass.
func Recorded(before metav1alpha1.Status, generation int64, deleting bool, now time.Time) metav1alpha1.Status {
	next := before
	next.Conditions = slices.Clone(before.Conditions)
	next.Waiting, next.Blocked = nil, nil
	v := PassResult{metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentsNotReady, "applying dependents"}
	if deleting {
		v = PassResult{metav1alpha1.StateDeleting, metav1alpha1.ReasonDeleting, "deleting dependents"}
	}
	setResult(&next, generation, v, now)
	return next
}

// earlierRepairConflict is the type and the reason that earlier versions of the reconciler gave to a repair conflict.
const earlierRepairConflict = "Contested"

// withCurrentNames returns a copy of a status with the current names of conditions and reasons that an earlier version
// of the reconciler may have written. Such a condition keeps the time of its last transition. After a downgrade and
// another upgrade a status has the condition under both names; the current one is kept then.
func withCurrentNames(before metav1alpha1.Status) metav1alpha1.Status {
	next := before
	next.Conditions, next.Waiting = slices.Clone(before.Conditions), slices.Clone(before.Waiting)
	if meta.FindStatusCondition(next.Conditions, metav1alpha1.ConditionRepairConflict) != nil {
		meta.RemoveStatusCondition(&next.Conditions, earlierRepairConflict)
	}
	for i, c := range next.Conditions {
		if c.Type == earlierRepairConflict {
			next.Conditions[i].Type = metav1alpha1.ConditionRepairConflict
			next.Conditions[i].Reason = metav1alpha1.ReasonRepairConflict
		}
	}
	for i, w := range next.Waiting {
		if w.Reason == earlierRepairConflict {
			next.Waiting[i].Reason = result.ReportRepairConflict
		}
	}
	return next
}

// Suspended returns the error that ends a pass over a suspended component. cause is the value of the annotation with
// the reason of the suspension; it is empty without this annotation.
func Suspended(cause string) *passerror.Error {
	message := "reconciling is suspended in the spec"
	if cause != "" {
		message += ": " + passerror.Truncate(cause, MaxSource)
	}
	return &passerror.Error{
		Reason: metav1alpha1.ReasonSuspended, Message: message, State: metav1alpha1.StateSuspended, Waits: true,
	}
}

// setResult enters a result into a status: its state and its conditions.
func setResult(status *metav1alpha1.Status, generation int64, v PassResult, now time.Time) {
	status.ObservedGeneration, status.State = generation, v.State
	ready, reconciling, stalled := metav1.ConditionFalse, false, false
	switch v.State {
	case metav1alpha1.StateReady:
		ready, status.ProgressingSince = metav1.ConditionTrue, nil
	case metav1alpha1.StateStalled, metav1alpha1.StateDeletionBlocked:
		stalled = true
		if v.Reason != metav1alpha1.ReasonTimeout {
			// The timeout restarts when the cause is resolved, so that the component gets the full time again.
			status.ProgressingSince = nil
		}
	case metav1alpha1.StateSuspended:
		ready, status.ProgressingSince = metav1.ConditionUnknown, nil
		// A suspended component repairs nothing, so it has no repair conflict.
		meta.RemoveStatusCondition(&status.Conditions, metav1alpha1.ConditionRepairConflict)
	case metav1alpha1.StateProgressing, metav1alpha1.StateDeleting:
		reconciling = true
	}
	set := conditionSetter(status, generation, v.Reason, v.Message, now)
	set(metav1alpha1.ConditionReady, ready, true)
	set(metav1alpha1.ConditionReconciling, metav1.ConditionTrue, reconciling)
	set(metav1alpha1.ConditionStalled, metav1.ConditionTrue, stalled)
}

// conditionSetter returns a function that sets a condition if present is true, and removes the condition otherwise.
func conditionSetter(
	status *metav1alpha1.Status, generation int64, reason, message string, now time.Time,
) func(kind string, value metav1.ConditionStatus, present bool) {
	return func(kind string, value metav1.ConditionStatus, present bool) {
		if !present {
			meta.RemoveStatusCondition(&status.Conditions, kind)
			return
		}
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: value, Reason: reason, Message: passerror.Message(message),
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
		})
	}
}

// setRepairConflicts sets the condition that names the dependents with a repair conflict, and removes the condition if
// there are no such dependents.
func setRepairConflicts(status *metav1alpha1.Status, r Report) {
	message := describeRepairConflicts(r.Outcome)
	set := conditionSetter(status, r.Generation, metav1alpha1.ReasonRepairConflict, message, r.Now)
	set(metav1alpha1.ConditionRepairConflict, metav1.ConditionTrue, len(r.Outcome.RepairConflicts) > 0)
}

// setStaleInputs sets the condition that names the event sources without a current value, and removes the condition if
// there are no such sources.
func setStaleInputs(status *metav1alpha1.Status, r Report) {
	set := conditionSetter(
		status, r.Generation, metav1alpha1.ReasonFetchFailed, strings.Join(r.StaleInputs, "; "), r.Now)
	set(metav1alpha1.ConditionInputStale, metav1.ConditionTrue, len(r.StaleInputs) > 0)
}

// count enters the counts of dependents into a status, the names of the first dependents that the component waits for,
// and the first types whose instances block a removal.
func count(status *metav1alpha1.Status, deleting bool, o outcome.Outcome) {
	countReady(&status.Dependents, deleting, o)
	status.Observed = nil
	for _, e := range o.Observed {
		status.Observed = append(status.Observed, e.String())
	}
	status.LeftOut = nil
	for _, report := range o.LeftOut[:min(len(o.LeftOut), MaxReports)] {
		report.Message = passerror.Truncate(report.Message, maxReport)
		status.LeftOut = append(status.LeftOut, report)
	}
	status.Waiting = nil
	reports := o.Reports()
	for _, report := range reports[:min(len(reports), MaxReports)] {
		report.Message = passerror.Truncate(report.Message, maxReport)
		status.Waiting = append(status.Waiting, report)
	}
	status.Blocked = nil
	for _, b := range o.Blocked[:min(len(o.Blocked), MaxReports)] {
		status.Blocked = append(status.Blocked, metav1alpha1.BlockReport{
			Type: b.Type, Count: int32(b.Count), Names: b.Names, Message: passerror.Truncate(b.Error, maxReport),
		})
	}
}

// setComponents enters the other components that the component waits for into its status, before the dependents.
func setComponents(status *metav1alpha1.Status, failure *passerror.Error) {
	status.Waiting = slices.DeleteFunc(status.Waiting, isOnComponent)
	if failure == nil || len(failure.Components) == 0 {
		return
	}
	waiting := slices.Concat(failure.Components, status.Waiting)
	status.Waiting = waiting[:min(len(waiting), MaxReports)]
}

// isOnComponent reports whether a report is on another component, and not on a dependent.
func isOnComponent(report metav1alpha1.DependentReport) bool {
	return report.Reason == result.ReportComponentNotReady || report.Reason == result.ReportDependedOn
}

// countReady updates the counts of dependents. A blocked deletion does not change the number of ready dependents.
// During a deletion no dependent has to be ready, so the summary contains the number of remaining dependents. While a
// deletion applies the objects of a phase, these objects have to be ready, so the summary counts these objects.
func countReady(counts *metav1alpha1.DependentCounts, deleting bool, o outcome.Outcome) {
	counts.Total = int32(len(o.Inventory) + len(o.Observed))
	desired := o.Desired
	switch {
	case deleting && len(o.Blocked) > 0:
		return
	case deleting && o.Phase == manifests.PhaseApply:
		desired = len(o.Inventory)
	}
	counts.Ready, counts.Summary = int32(o.Ready), fmt.Sprintf("%d/%d", o.Ready, desired)
}
