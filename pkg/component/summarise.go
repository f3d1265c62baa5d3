package component

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxReports is how many dependents the status names.
const maxReports = 10

// verdict is what a pass means for the component.
type verdict struct {
	state           metav1alpha1.State
	reason, message string
}

// hintDeletion and hintLetGo say what to do where a dependent cannot be deleted.
const (
	hintDeletion = "; resolve that, and the deletion goes on within the retry interval"
	hintLetGo    = "; or give the dependents up, which then stay as they are, by removing the operator's finalizer from the component"
)

// judge turns the end of a pass into a verdict.
func judge(deleting bool, o Outcome, failure *condition.Error) verdict {
	v := judgeDependents(deleting, o, failure)
	if len(o.Unwatched) > 0 {
		var parts []string
		for _, u := range o.Unwatched {
			parts = append(parts, u.Type+" ("+u.Message+")")
		}
		v.message += "; read at the retry interval, because they cannot be watched: " + strings.Join(parts, ", ")
	}
	if o.missed != "" && failure == nil {
		v.message += "; " + o.missed
	}
	return v
}

func judgeDependents(deleting bool, o Outcome, failure *condition.Error) verdict {
	switch {
	case failure != nil:
		return verdict{state: failure.EffectiveState(), reason: failure.Reason, message: failure.Message}
	case o.Observing:
		return verdict{metav1alpha1.StateProgressing, metav1alpha1.ReasonObserving, "watches on the types of the dependents have not delivered yet"}
	case len(o.Blocked) > 0:
		return blockedVerdict(deleting, o.Blocked)
	case deleting && o.Phase != manifests.PhaseApply:
		return phaseVerdict(o)
	case deleting:
		if _, terminal := failures(o.Waiting); len(terminal) > 0 {
			return verdict{metav1alpha1.StateStalled, metav1alpha1.ReasonDependentFailed, describe("cannot be deleted", terminal) + hintDeletion + hintOutOfReach(o)}
		}
		message := describe("waiting until gone", o.Waiting) + hintOutOfReach(o) + describeSkipped(o.Skipped)
		return verdict{metav1alpha1.StateDeleting, metav1alpha1.ReasonDeleting, message}
	case onlyContested(o):
		return contestedVerdict(o)
	case len(o.Waiting) > 0:
		return waitingVerdict(o)
	}
	return verdict{metav1alpha1.StateReady, metav1alpha1.ReasonReady, readyMessage(o.Ready)}
}

// hintOutOfReach says what else can be done where the component lacks the rights, or the way, to its dependents.
func hintOutOfReach(o Outcome) string {
	reasons := []string{metav1alpha1.ReasonForbidden, plan.WaitUnauthorized, "Unreachable"}
	if slices.ContainsFunc(o.Waiting, func(w Waiting) bool { return w.Failed && slices.Contains(reasons, w.Reason) }) {
		return hintLetGo
	}
	return ""
}

func readyMessage(count int) string {
	if count == 1 {
		return "1 dependent is ready"
	}
	return fmt.Sprintf("%d dependents are ready", count)
}

func blockedVerdict(deleting bool, blocked []Blocked) verdict {
	v := verdict{state: metav1alpha1.StateStalled, reason: metav1alpha1.ReasonForeignInstances}
	what := "pruning is refused"
	if deleting {
		v.state, what = metav1alpha1.StateDeletionBlocked, "deletion is refused"
	}
	var parts []string
	for _, b := range blocked {
		parts = append(parts, describeForeign(b))
	}
	advice := "it goes on by itself once that is known"
	if slices.ContainsFunc(blocked, func(b Blocked) bool { return b.Count > 0 }) {
		advice = "delete them, and it goes on by itself"
	}
	v.message = what + ", because " + strings.Join(parts, "; ") + "; " + advice
	return v
}

func describeForeign(b Blocked) string {
	names := strings.Join(b.Names, ", ")
	switch {
	case b.Error != "":
		return fmt.Sprintf("whether foreign instances of %s exist is not known: %s", b.Type, b.Error)
	case b.Count == 1:
		return fmt.Sprintf("1 foreign instance of %s exists: %s", b.Type, names)
	case b.Count > len(b.Names):
		return fmt.Sprintf("%d foreign instances of %s exist: %s and more", b.Count, b.Type, names)
	}
	return fmt.Sprintf("%d foreign instances of %s exist: %s", b.Count, b.Type, names)
}

func waitingVerdict(o Outcome) verdict {
	failed, terminal := failures(o.Waiting)
	switch {
	case len(terminal) > 0:
		reason := metav1alpha1.ReasonDependentFailed
		if terminal[0].Reason == metav1alpha1.ReasonOwnershipConflict {
			reason = metav1alpha1.ReasonOwnershipConflict
		}
		return verdict{metav1alpha1.StateStalled, reason, describe("failed", terminal)}
	case len(failed) > 0:
		return verdict{metav1alpha1.StateProgressing, metav1alpha1.ReasonRetrying, describe("retrying", failed)}
	case o.Applied && o.Ready == o.Desired:
		return verdict{metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentsNotGone, describe("waiting until gone", o.Waiting)}
	}
	return verdict{metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentsNotReady, describe("waiting until ready", o.Waiting)}
}

// failures picks those that failed, and those among them that do not get better by themselves.
func failures(waiting []Waiting) (failed, terminal []Waiting) {
	for _, w := range waiting {
		if w.Failed {
			failed = append(failed, w)
		}
		if w.Terminal {
			terminal = append(terminal, w)
		}
	}
	return failed, terminal
}

// describe names the first three dependents with their reasons.
func describe(what string, waiting []Waiting) string {
	const named = 3
	var parts []string
	for _, w := range waiting[:min(len(waiting), named)] {
		text := w.Message
		if text == "" {
			text = w.Reason
		}
		parts = append(parts, w.Dependent+" ("+text+")")
	}
	text := what + ": " + strings.Join(parts, ", ")
	if more := len(waiting) - named; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// summarise enters a verdict into the conditions. Reconciling and Stalled are present only while they are true, as kstatus has it.
func summarise(status *metav1alpha1.Status, generation int64, v verdict, now time.Time) {
	status.ObservedGeneration, status.State = generation, v.state
	v.message = condition.Message(v.message)
	set := func(kind string, value metav1.ConditionStatus) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: value, Reason: v.reason, Message: v.message,
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
		})
	}
	ready, reconciling, stalled := metav1.ConditionFalse, false, false
	switch v.state {
	case metav1alpha1.StateReady:
		ready, status.ProgressingSince = metav1.ConditionTrue, nil
	case metav1alpha1.StateStalled, metav1alpha1.StateDeletionBlocked:
		stalled = true
		if v.reason != metav1alpha1.ReasonTimeout {
			// What goes on after it was resolved gets the full time.
			status.ProgressingSince = nil
		}
	case metav1alpha1.StateSuspended:
		ready, status.ProgressingSince = metav1.ConditionUnknown, nil
		// Nothing is repaired, so that nothing is contested.
		meta.RemoveStatusCondition(&status.Conditions, metav1alpha1.ConditionContested)
	case metav1alpha1.StateProgressing, metav1alpha1.StateDeleting:
		reconciling = true
	}
	set(metav1alpha1.ConditionReady, ready)
	setWhile := func(kind string, present bool) {
		if present {
			set(kind, metav1.ConditionTrue)
			return
		}
		meta.RemoveStatusCondition(&status.Conditions, kind)
	}
	setWhile(metav1alpha1.ConditionReconciling, reconciling)
	setWhile(metav1alpha1.ConditionStalled, stalled)
}

// count enters what is known of the dependents.
func count(status *metav1alpha1.Status, deleting bool, o Outcome) {
	countReady(&status.Dependents, deleting, o)
	status.Waiting = nil
	reports := o.reports()
	for _, report := range reports[:min(len(reports), maxReports)] {
		report.Message = condition.Truncate(report.Message, 1024)
		status.Waiting = append(status.Waiting, report)
	}
}

// countReady counts dependents. A deletion that is refused leaves them as they are, and one that goes on wants none to be ready: those that
// are left are counted, unless objects of a phase are being applied.
func countReady(counts *metav1alpha1.DependentCounts, deleting bool, o Outcome) {
	counts.Total = int32(len(o.Inventory))
	desired := o.Desired
	switch {
	case deleting && len(o.Blocked) > 0:
		return
	case deleting && o.Phase == manifests.PhaseApply:
		desired = len(o.Inventory)
	}
	counts.Ready, counts.Summary = int32(o.Ready), fmt.Sprintf("%d/%d", o.Ready, desired)
}
