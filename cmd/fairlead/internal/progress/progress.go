// Package progress turns statuses of a component into what a person who waits for it reads, and shows that.
package progress

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// Verdict is the answer that a status gives to somebody who waits.
type Verdict string

// The verdicts.
const (
	// Waiting: there is no answer yet.
	Waiting Verdict = "Waiting"
	// Reached: what was waited for is so.
	Reached Verdict = "Reached"
	// Failed: it will not become so without a change.
	Failed Verdict = "Failed"
	// Blocked: somebody must do something before it goes on, which it does by itself then.
	Blocked Verdict = "Blocked"
)

// Report is what a status says.
type Report struct {
	Verdict Verdict
	// Lines are for a person. Printed says which of them are worth printing.
	Lines []string
	// Summary says in one line why the answer is not yes: what failed, or who is waited for.
	Summary string
}

// Printed remembers lines.
type Printed map[string]bool

// New returns those lines that were not printed before, and remembers them.
func (p Printed) New(lines []string) []string {
	var fresh []string
	for _, line := range lines {
		if !p[line] {
			p[line] = true
			fresh = append(fresh, line)
		}
	}
	return fresh
}

// OfApply reports how far a component is on its way to Ready for a generation of its spec. A status of an older generation says nothing.
func OfApply(s metav1alpha1.Status, generation int64) Report {
	ready := conditionOf(s, metav1alpha1.ConditionReady)
	switch {
	case s.ObservedGeneration < generation:
		text := fmt.Sprintf("generation %d is not observed by the operator yet", generation)
		return Report{Verdict: Waiting, Lines: []string{text}, Summary: text + "; is it running?"}
	case ready.Status == metav1.ConditionTrue:
		return Report{Verdict: Reached, Lines: []string{fmt.Sprintf("ready: %s dependents, revision %d", Count(s), s.Revision)}}
	case s.State == metav1alpha1.StateSuspended:
		return Report{Verdict: Failed, Summary: "it is suspended, so that nothing is applied; fairlead resume lets its operator take it up"}
	}
	if stalled := conditionOf(s, metav1alpha1.ConditionStalled); stalled.Status == metav1.ConditionTrue {
		return Report{Verdict: Failed, Summary: explain(stalled)}
	}
	return Report{Verdict: Waiting, Lines: applyLines(s, ready), Summary: whoIsWaitedFor(s, ready)}
}

// OfRequest reports how far a request for a pass is: it must be answered, and then the component be on its way to Ready.
func OfRequest(s metav1alpha1.Status, generation int64, request string) Report {
	if s.LastHandledReconcileAt != request {
		text := "the operator has not answered yet"
		return Report{Verdict: Waiting, Lines: []string{text}, Summary: text + "; is it running, and does it acknowledge requests?"}
	}
	return OfApply(s, generation)
}

// OfSuspension reports whether the operator took note that a component is suspended.
func OfSuspension(s metav1alpha1.Status, generation int64) Report {
	if s.State == metav1alpha1.StateSuspended && s.ObservedGeneration >= generation {
		return Report{Verdict: Reached, Lines: []string{"its operator leaves it alone"}}
	}
	text := "the operator has not taken note of it yet"
	if s.ObservedGeneration >= generation {
		return Report{Verdict: Failed, Summary: "its operator saw spec.suspend, and goes on all the same"}
	}
	return Report{Verdict: Waiting, Lines: []string{text}, Summary: text + "; is it running?"}
}

func applyLines(s metav1alpha1.Status, ready metav1.Condition) []string {
	// Where nobody is waited for, the counts are those of an earlier pass.
	if !namesDependents(ready, s) {
		return []string{explain(ready)}
	}
	if ready.Reason == metav1alpha1.ReasonDependentsNotGone {
		return append([]string{Count(s) + " ready, pruning"}, waitingLines(s)...)
	}
	lines := []string{fmt.Sprintf("wave %d: %s ready", currentWave(s.Waiting), Count(s))}
	return append(lines, waitingLines(s)...)
}

// OfDeletion reports how far a deletion is; the request for it made that generation. A component that is gone has no status, so that no
// verdict is Reached.
func OfDeletion(s metav1alpha1.Status, generation int64) Report {
	ready := conditionOf(s, metav1alpha1.ConditionReady)
	switch {
	case s.ObservedGeneration < generation:
		text := "the operator has not taken up the deletion yet"
		return Report{Verdict: Waiting, Lines: []string{text}, Summary: text + "; is it running?"}
	case isBlocked(s, ready):
		text := "the deletion is blocked: " + explain(ready)
		return Report{Verdict: Blocked, Lines: []string{text}, Summary: text}
	}
	lines := []string{explain(ready)}
	if namesDependents(ready, s) && slices.ContainsFunc(s.Waiting, untilGone) {
		lines = append([]string{fmt.Sprintf("deleting: %d left", s.Dependents.Total)}, waitingLines(s)...)
	}
	return Report{Verdict: Waiting, Lines: lines, Summary: whoIsWaitedFor(s, ready)}
}

func isBlocked(s metav1alpha1.Status, ready metav1.Condition) bool {
	return s.State == metav1alpha1.StateDeletionBlocked ||
		ready.Reason == metav1alpha1.ReasonForeignInstances || ready.Reason == metav1alpha1.ReasonForeignFinalizers
}

// Count returns ready/desired.
func Count(s metav1alpha1.Status) string {
	if s.Dependents.Summary != "" {
		return s.Dependents.Summary
	}
	return fmt.Sprintf("%d/%d", s.Dependents.Ready, s.Dependents.Total)
}

// isProgress says that a reason is the usual course of things, so that the message is enough.
func isProgress(reason string) bool {
	switch reason {
	case metav1alpha1.ReasonDependentsNotReady, metav1alpha1.ReasonDependentsNotGone, metav1alpha1.ReasonDeleting:
		return true
	}
	return false
}

// namesDependents says that a condition only repeats the dependents that the status names anyway.
func namesDependents(c metav1.Condition, s metav1alpha1.Status) bool {
	return isProgress(c.Reason) && len(s.Waiting) > 0
}

// currentWave returns the wave that is under way: the lowest that is waited for.
func currentWave(waiting []metav1alpha1.DependentReport) int32 {
	lowest := waiting[0].Wave
	for _, w := range waiting {
		lowest = min(lowest, w.Wave)
	}
	return lowest
}

// untilGone says that a dependent is to disappear. In a deletion others may be waited for until they are complete: those of a phase.
func untilGone(w metav1alpha1.DependentReport) bool {
	return slices.Contains([]string{"NotGone", "Terminating", "NamespaceNotEmpty"}, w.Reason)
}

func waitingLines(s metav1alpha1.Status) []string {
	lines := make([]string, 0, len(s.Waiting))
	for _, w := range s.Waiting {
		format := "wave %d: waiting for %s: %s"
		if untilGone(w) {
			format = "wave %d: waiting until %s is gone: %s"
		}
		lines = append(lines, fmt.Sprintf(format, w.Wave, w.Dependent, reasonOf(w)))
	}
	return lines
}

func reasonOf(w metav1alpha1.DependentReport) string {
	if w.Message == "" {
		return w.Reason
	}
	return w.Reason + ": " + oneLine(w.Message)
}

func whoIsWaitedFor(s metav1alpha1.Status, ready metav1.Condition) string {
	if !namesDependents(ready, s) {
		return explain(ready)
	}
	names := make([]string, 0, len(s.Waiting))
	for _, w := range s.Waiting {
		names = append(names, fmt.Sprintf("%s (%s)", w.Dependent, reasonOf(w)))
	}
	return "waiting for " + strings.Join(names, ", ")
}

func conditionOf(s metav1alpha1.Status, name string) metav1.Condition {
	if c := meta.FindStatusCondition(s.Conditions, name); c != nil {
		return *c
	}
	return metav1.Condition{}
}

func explain(c metav1.Condition) string {
	switch {
	case c.Reason == "":
		return "the operator gives no reason"
	case c.Message == "":
		return c.Reason
	case isProgress(c.Reason):
		return oneLine(c.Message)
	}
	return c.Reason + ": " + oneLine(c.Message)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
