package progress

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/plural"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// Result is the result of the comparison of a status with the state that a person waits for.
type Result string

// The results.
const (
	// Waiting: the component is not in the desired state yet.
	Waiting Result = "Waiting"
	// Reached: the component is in the desired state.
	Reached Result = "Reached"
	// Failed: the component will not reach the state without a change.
	Failed Result = "Failed"
	// Blocked: the operator continues after a person has corrected a problem.
	Blocked Result = "Blocked"
)

// Report is the result on a status, with its explanation.
type Report struct {
	Result Result
	// Lines are the lines to show. Printed selects those that were not printed before.
	Lines []string
	// Summary explains in one line why the result is not Reached: the failure, or the dependents that the component
	// waits for.
	Summary string
	// Unserved is set if the component waits only for dependents whose types are not served, and that nothing in the
	// component defines.
	Unserved bool
}

// Printed is the set of the lines that were printed.
type Printed map[string]bool

// New returns the lines that are not in the set, and adds them.
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

// OfApply reports the progress of a component towards Ready for a generation of its spec.
func OfApply(s metav1alpha1.Status, generation int64) Report {
	ready := conditionOf(s, metav1alpha1.ConditionReady)
	switch {
	case s.ObservedGeneration < generation:
		return Report{
			Result: Waiting, Lines: []string{"waiting for the operator"},
			Summary: fmt.Sprintf("the operator has not observed generation %d yet; is it running?", generation),
		}
	case ready.Status == metav1.ConditionTrue:
		return Report{Result: Reached, Lines: []string{fmt.Sprintf("ready: %s dependents, revision %d", Count(s),
			s.Revision)}}
	case s.State == metav1alpha1.StateSuspended:
		return Report{Result: Failed, Summary: "the component is suspended; fairlead resume resumes it"}
	}
	if stalled := conditionOf(s, metav1alpha1.ConditionStalled); stalled.Status == metav1.ConditionTrue {
		return Report{Result: Failed, Summary: explain(stalled)}
	}
	return Report{
		Result: Waiting, Lines: applyLines(s, ready), Summary: whoIsWaitedFor(s, ready),
		Unserved: ready.Reason == metav1alpha1.ReasonKindNotServed,
	}
}

// OfRequest reports the progress of a request for a pass: its acknowledgement, and then the progress towards Ready.
func OfRequest(s metav1alpha1.Status, generation int64, request string) Report {
	if s.LastHandledReconcileAt != request {
		text := "the operator has not acknowledged the request yet"
		return Report{Result: Waiting, Lines: []string{text}, Summary: text +
			"; is it running, and does it support acknowledgements?"}
	}
	return OfApply(s, generation)
}

// OfSuspension reports whether the status says that the operator has suspended the component.
func OfSuspension(s metav1alpha1.Status, generation int64) Report {
	if s.State == metav1alpha1.StateSuspended && s.ObservedGeneration >= generation {
		return Report{Result: Reached, Lines: []string{"the operator has suspended the component"}}
	}
	text := "the operator has not observed the suspension yet"
	if s.ObservedGeneration >= generation {
		return Report{
			Result:  Failed,
			Summary: "the operator has observed spec.suspend, but continues to reconcile the component",
		}
	}
	return Report{Result: Waiting, Lines: []string{text}, Summary: text + "; is it running?"}
}

func applyLines(s metav1alpha1.Status, ready metav1.Condition) []string {
	// If the component waits for no dependents, the counts are those of an earlier pass.
	if !namesDependents(ready, s) {
		return []string{explain(ready)}
	}
	if ready.Reason == metav1alpha1.ReasonDependentsNotGone {
		return append([]string{Count(s) + " ready, pruning"}, waitingLines(s)...)
	}
	lines := []string{fmt.Sprintf("%s ready, in wave %d", Count(s), currentWave(s.Waiting))}
	return append(lines, waitingLines(s)...)
}

// OfDeletion reports the progress of a deletion. Generation is the component's generation after the request of the
// deletion. The result is never Reached, because a deleted component has no status.
func OfDeletion(s metav1alpha1.Status, generation int64) Report {
	ready := conditionOf(s, metav1alpha1.ConditionReady)
	switch {
	case s.ObservedGeneration < generation:
		text := "the operator has not started the deletion yet"
		return Report{Result: Waiting, Lines: []string{text}, Summary: text + "; is it running?"}
	case isBlocked(s, ready):
		text := "the deletion is blocked: " + explain(ready)
		return Report{Result: Blocked, Lines: append([]string{text}, blockedLines(s)...), Summary: text}
	}
	lines := []string{explain(ready)}
	if namesDependents(ready, s) && slices.ContainsFunc(s.Waiting, waitsForDeletion) {
		lines = append([]string{fmt.Sprintf("deleting: %d left", s.Dependents.Total)}, waitingLines(s)...)
	}
	return Report{Result: Waiting, Lines: lines, Summary: whoIsWaitedFor(s, ready)}
}

func isBlocked(s metav1alpha1.Status, ready metav1.Condition) bool {
	return s.State == metav1alpha1.StateDeletionBlocked ||
		ready.Reason == metav1alpha1.ReasonForeignInstances || ready.Reason == metav1alpha1.ReasonForeignFinalizers
}

// blockedLines returns a line for each type that blocks a deletion. If there is a single type, the condition has its
// cause already.
func blockedLines(s metav1alpha1.Status) []string {
	if len(s.Blocked) < 2 {
		return nil
	}
	lines := make([]string, 0, len(s.Blocked))
	for _, b := range s.Blocked {
		text := fmt.Sprintf("%s: %s", plural.Of(int(b.Count), "instance"), strings.Join(b.Names, ", "))
		if b.Message != "" {
			text = b.Message
		}
		lines = append(lines, "blocked by "+b.Type+": "+oneLine(text))
	}
	return lines
}

// Count returns the numbers of ready and desired dependents in the form 3/5.
func Count(s metav1alpha1.Status) string {
	if s.Dependents.Summary != "" {
		return s.Dependents.Summary
	}
	return fmt.Sprintf("%d/%d", s.Dependents.Ready, s.Dependents.Total)
}

// isProgress reports whether a reason means normal progress. Then the message explains the state without the reason.
func isProgress(reason string) bool {
	switch reason {
	case metav1alpha1.ReasonDependentsNotReady, metav1alpha1.ReasonDependentsNotGone, metav1alpha1.ReasonDeleting,
		metav1alpha1.ReasonKindNotServed:
		return true
	}
	return false
}

// namesDependents reports whether the condition's message only lists the dependents in status.waiting.
func namesDependents(c metav1.Condition, s metav1alpha1.Status) bool {
	return isProgress(c.Reason) && len(s.Waiting) > 0
}

// currentWave returns the lowest wave of the dependents that the component waits for. Dependents that wait for a
// dependency belong to no wave, so they count only if there are no others.
func currentWave(waiting []metav1alpha1.DependentReport) int32 {
	inWaves := slices.DeleteFunc(slices.Clone(waiting), isHeldUp)
	if len(inWaves) == 0 {
		return waiting[0].Wave
	}
	lowest := inWaves[0].Wave
	for _, w := range inWaves {
		lowest = min(lowest, w.Wave)
	}
	return lowest
}

// isHeldUp reports whether a dependent waits for a dependency instead of a wave.
func isHeldUp(w metav1alpha1.DependentReport) bool { return w.Reason == result.ReportDependency }

// waitsForDeletion reports whether the component waits for the deletion of a dependent. Otherwise the component waits
// until the dependent is ready or, for a hook of the deletion, complete.
func waitsForDeletion(w metav1alpha1.DependentReport) bool {
	return slices.Contains([]string{"NotGone", "Terminating", "NamespaceNotEmpty"}, w.Reason)
}

func waitingLines(s metav1alpha1.Status) []string {
	lines := make([]string, 0, len(s.Waiting))
	for _, w := range s.Waiting {
		if isHeldUp(w) {
			lines = append(lines, fmt.Sprintf("%s %s", w.Dependent, oneLine(w.Message)))
			continue
		}
		format := "wave %d: waiting for %s: %s"
		if waitsForDeletion(w) {
			format = "wave %d: waiting until %s is deleted: %s"
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
