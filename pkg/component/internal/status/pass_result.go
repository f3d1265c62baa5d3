package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const (
	// maxNamed is the number of dependents, types or instances that a message names.
	maxNamed = 3
	// maxOfSeveral bounds the text about a dependent in a message that names several dependents, in bytes.
	maxOfSeveral = 200
)

// These texts are appended to the message about a deletion that cannot continue.
const (
	hintDeletion = "; resolve the failures, and the deletion continues within the retry interval"
	// HintGiveUp is advice for users: how to delete the component without its dependents.
	HintGiveUp = "; or " + giveUp
	giveUp     = "remove the operator's finalizer from the component: dependents that are not deleted yet then stay unchanged"
)

// PassResult is the state of a component at the end of a pass, with the reason and the message for its conditions.
type PassResult struct {
	State           metav1alpha1.State
	Reason, Message string
}

// NeedsPerson reports whether the component waits until a person acts.
func (v PassResult) NeedsPerson() bool {
	return v.State == metav1alpha1.StateStalled || v.State == metav1alpha1.StateDeletionBlocked
}

// ResultOf returns the result of a pass over a component. failure is the error that ended the pass, or nil if there was
// no error.
func ResultOf(component manifests.Key, deleting bool, o outcome.Outcome, failure *passerror.Error) PassResult {
	v := resultOfDependents(component, deleting, o, failure)
	if len(o.Unwatched) > 0 {
		var parts []string
		for _, u := range o.Unwatched {
			parts = append(parts, u.Type+" ("+u.Message+")")
		}
		v.Message += "; read at the retry interval, because they cannot be watched: " + strings.Join(parts, ", ")
	}
	if o.Unsearched != "" && failure == nil {
		v.Message += "; " + o.Unsearched
	}
	return v
}

func resultOfDependents(component manifests.Key, deleting bool, o outcome.Outcome, failure *passerror.Error) PassResult {
	switch {
	case failure != nil:
		return PassResult{State: failure.EffectiveState(), Reason: failure.Reason, Message: failure.Message}
	case o.Observing:
		return PassResult{
			metav1alpha1.StateProgressing, metav1alpha1.ReasonObserving,
			"not available yet: the first lists of watches, the source, the values of event sources, the target cluster, " +
				"or a worker for components with a kubeconfig",
		}
	case len(o.Blocked) > 0:
		return resultOfBlocked(deleting, o.Blocked)
	case deleting && o.Phase != manifests.PhaseApply:
		return resultOfPhase(o)
	case deleting:
		return resultOfDeletion(o)
	case onlyRepairConflicts(o):
		return PassResult{metav1alpha1.StateProgressing, metav1alpha1.ReasonRepairConflict, describeRepairConflicts(o)}
	case len(o.Waiting) > 0:
		return resultOfWaiting(component, o)
	}
	return PassResult{metav1alpha1.StateReady, metav1alpha1.ReasonReady, readyMessage(o.Ready)}
}

// WithTimeout replaces the state Progressing by Stalled if the component has been progressing for longer than timeout.
// since is the time when the component began to progress, or nil if it begins now. WithTimeout also returns this time,
// to be written to the status. A timeout of zero or less means no limit.
func (v PassResult) WithTimeout(since *metav1.Time, timeout time.Duration, now time.Time) (PassResult, *metav1.Time) {
	if v.State != metav1alpha1.StateProgressing {
		return v, since
	}
	if since == nil {
		since = new(metav1.NewTime(now))
	}
	if timeout <= 0 || now.Before(since.Add(timeout)) {
		return v, since
	}
	message := fmt.Sprintf("not ready within %s; %s", timeout, v.Message)
	return PassResult{metav1alpha1.StateStalled, metav1alpha1.ReasonTimeout, message}, since
}

func resultOfDeletion(o outcome.Outcome) PassResult {
	if _, terminal := o.Failures(); len(terminal) > 0 {
		message := describe("cannot be deleted", terminal) + hintDeletion + hintUnreachable(o)
		return PassResult{metav1alpha1.StateStalled, reasonOf(terminal), message}
	}
	message := describe("waiting until deleted", o.Waiting) + hintUnreachable(o) + DescribeSkipped(o.Skipped)
	return PassResult{metav1alpha1.StateDeleting, metav1alpha1.ReasonDeleting, message}
}

// hintUnreachable returns HintGiveUp if a deletion waits for a dependent that the component may not delete, or whose
// API server cannot be reached.
func hintUnreachable(o outcome.Outcome) string {
	reasons := []plan.WaitReason{plan.WaitForbidden, plan.WaitUnauthorized, plan.WaitUnreachable}
	if slices.ContainsFunc(
		o.Waiting,
		func(w result.Waiting) bool { return w.Failed && slices.Contains(reasons, plan.WaitReason(w.Reason)) },
	) {
		return HintGiveUp
	}
	return ""
}

func readyMessage(count int) string {
	if count == 1 {
		return "1 dependent is ready"
	}
	return fmt.Sprintf("%d dependents are ready", count)
}

func resultOfBlocked(deleting bool, blocked []result.Blocked) PassResult {
	v := PassResult{State: metav1alpha1.StateStalled, Reason: metav1alpha1.ReasonForeignInstances}
	work := "pruning"
	if deleting {
		v.State, work = metav1alpha1.StateDeletionBlocked, "deletion"
	}
	advice := "the " + work + " continues once this is known"
	if slices.ContainsFunc(blocked, func(b result.Blocked) bool { return b.Count > 0 }) {
		advice = "the " + work + " continues when they are deleted, and their data with them; " + keepInstances(deleting)
	}
	v.Message = work + " is refused, because " + describeBlocked(blocked) + "; " + advice
	return v
}

// keepInstances returns advice on how to keep foreign instances, with the definition of their type.
func keepInstances(deleting bool) string {
	if deleting {
		return "to keep them, " + giveUp
	}
	return "to keep them, render the definition of their type again"
}

// describeBlocked returns a short text about the types that block a removal. The status contains the complete list. If
// there is a single type, the text contains its cause.
func describeBlocked(blocked []result.Blocked) string {
	if len(blocked) == 1 {
		return describeForeign(blocked[0])
	}
	verb := "exist"
	if slices.ContainsFunc(blocked, result.Blocked.Unlisted) {
		verb = "may exist"
	}
	var types []string
	for _, b := range blocked[:min(len(blocked), maxNamed)] {
		count := fmt.Sprint(b.Count)
		if b.Unlisted() {
			count = "not known"
		}
		types = append(types, fmt.Sprintf("%s (%s)", b.Type, count))
	}
	text := fmt.Sprintf("foreign instances of %d types %s: %s", len(blocked), verb, strings.Join(types, ", "))
	if more := len(blocked) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + "; status.blocked has the details"
}

func describeForeign(b result.Blocked) string {
	names := strings.Join(b.Names[:min(len(b.Names), maxNamed)], ", ")
	switch {
	case b.Error != "":
		return fmt.Sprintf("it is not known whether foreign instances of %s exist: %s", b.Type, b.Error)
	case len(b.Names) == 0:
		return fmt.Sprintf("foreign instances of %s exist (%d), which the identity of the component may not get", b.Type,
			b.Count)
	case b.Count == 1:
		return fmt.Sprintf("1 foreign instance of %s exists: %s", b.Type, names)
	case b.Count > min(len(b.Names), maxNamed):
		return fmt.Sprintf("%d foreign instances of %s exist: %s and more", b.Count, b.Type, names)
	}
	return fmt.Sprintf("%d foreign instances of %s exist: %s", b.Count, b.Type, names)
}

// isOpen reports whether the component waits only for exports that its rendering asked for.
func isOpen(waiting []result.Waiting) bool {
	return len(waiting) > 0 && !slices.ContainsFunc(waiting, func(w result.Waiting) bool { return !w.Open })
}

// reasonOf returns the reason of a component with terminal failures. An external whose recorded state is damaged needs
// the same answer as one whose creation is uncertain.
func reasonOf(terminal []result.Waiting) string {
	uncertain := func(w result.Waiting) bool {
		return w.Reason == string(plan.WaitCreateUncertain) || w.Reason == string(plan.WaitStateDamaged)
	}
	switch {
	case terminal[0].Reason == metav1alpha1.ReasonOwnershipConflict:
		return metav1alpha1.ReasonOwnershipConflict
	case slices.ContainsFunc(terminal, uncertain):
		return metav1alpha1.ReasonCreateUncertain
	}
	return metav1alpha1.ReasonDependentFailed
}

func resultOfWaiting(component manifests.Key, o outcome.Outcome) PassResult {
	failed, terminal := o.Failures()
	switch {
	case isOpen(terminal):
		return PassResult{
			metav1alpha1.StateStalled, metav1alpha1.ReasonRenderingIncomplete, describe("the rendering is incomplete", terminal),
		}
	case len(terminal) > 0 && o.Held:
		message := describe("nothing more of this revision is written, because it is invalid", terminal)
		return PassResult{
			metav1alpha1.StateStalled, metav1alpha1.ReasonInvalidManifests, message + hintAll(component, terminal),
		}
	case len(terminal) > 0:
		return PassResult{metav1alpha1.StateStalled, reasonOf(terminal), describe("failed", terminal)}
	case len(failed) > 0:
		return PassResult{metav1alpha1.StateProgressing, metav1alpha1.ReasonRetrying, describe("failed", failed)}
	case isOpen(o.Waiting):
		return PassResult{
			metav1alpha1.StateProgressing, metav1alpha1.ReasonRenderingIncomplete,
			describe("the rendering is incomplete", o.Waiting),
		}
	case o.Applied && o.Ready == o.Desired:
		message := describe("waiting until deleted", o.Waiting)
		return PassResult{metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentsNotGone, message}
	}
	message := describe("waiting until ready", o.UndefinedFirst())
	if !slices.ContainsFunc(o.Waiting, func(w result.Waiting) bool { return !w.Undefined }) {
		return PassResult{metav1alpha1.StateProgressing, metav1alpha1.ReasonKindNotServed, message}
	}
	return PassResult{metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentsNotReady, message}
}

// hintAll returns the command that prints all invalid dependents in full, if the message does not do that and there is
// one for the type of the component.
func hintAll(component manifests.Key, terminal []result.Waiting) string {
	if len(terminal) == 1 || !plan.IsReadyMade(component) {
		return ""
	}
	return "; fairlead" + plan.CommandFor("plan", component) + " prints them all, with their files"
}

// resultOfPhase returns the result of a deletion that is applying the objects of a phase.
func resultOfPhase(o outcome.Outcome) PassResult {
	prefix := fmt.Sprintf("phase %s: ", o.Phase)
	if _, terminal := o.Failures(); len(terminal) > 0 {
		message := prefix + describe("failed", terminal) + phaseAdvice(terminal) + hintUnreachable(o)
		return PassResult{metav1alpha1.StateStalled, metav1alpha1.ReasonDependentFailed, message}
	}
	message := prefix + describe("waiting until complete", o.Waiting) + hintUnreachable(o) + DescribeSkipped(o.Skipped)
	return PassResult{metav1alpha1.StateDeleting, metav1alpha1.ReasonDeleting, message}
}

// phaseAdvice returns advice for users about failed objects of a phase. A Job or Pod that exists and failed has to
// be deleted, so that it is applied again. If the API server refused to create an object, the cause of the refusal has
// to be resolved. The message of a failed object that was deleted already has the advice.
func phaseAdvice(terminal []result.Waiting) string {
	failed := func(w result.Waiting) bool {
		return w.Reason == metav1alpha1.ReasonDependentFailed || w.Reason == metav1alpha1.ReasonTimeout
	}
	advice := ""
	if slices.ContainsFunc(terminal, func(w result.Waiting) bool { return failed(w) && !w.Purged }) {
		advice = "; resolve the cause, save the logs that you need, and delete the failed Jobs and Pods: they are applied " +
			"again, and the deletion continues"
	}
	if slices.ContainsFunc(terminal, func(w result.Waiting) bool { return !failed(w) }) {
		advice += "; resolve the cause of the refusal: refused objects are applied again within the retry interval"
	}
	return advice
}

// DescribeSkipped returns a text that names the objects of phases that could not be applied. The text is empty if all
// objects were applied.
func DescribeSkipped(skipped []manifests.Key) string {
	if len(skipped) == 0 {
		return ""
	}
	names := make([]string, 0, len(skipped))
	for _, key := range skipped[:min(len(skipped), MaxReports)] {
		names = append(names, key.String())
	}
	return "; skipped, because the namespace is being deleted: " + strings.Join(names, ", ")
}

// onlyRepairConflicts reports whether the component waits only for dependents with a repair conflict.
func onlyRepairConflicts(o outcome.Outcome) bool {
	return len(o.RepairConflicts) > 0 &&
		!slices.ContainsFunc(
			o.Waiting,
			func(w result.Waiting) bool { return plan.WaitReason(w.Reason) != plan.WaitRepairConflict },
		)
}

func describeRepairConflicts(o outcome.Outcome) string {
	conflicts := make([]result.Waiting, 0, len(o.RepairConflicts))
	for _, c := range o.RepairConflicts {
		conflicts = append(conflicts, result.Waiting{DependentReport: c})
	}
	return describe("repair conflict", conflicts)
}

// describe returns a text with the names and messages of the first three waiting dependents. The messages of
// several dependents are shortened, because the status lists them in full: a long message to its cause, without its
// remedies.
func describe(what string, waiting []result.Waiting) string {
	var parts []string
	isCut := false
	for _, w := range waiting[:min(len(waiting), maxNamed)] {
		text := w.Message
		if text == "" {
			text = w.Reason
		}
		if len(waiting) > 1 {
			short := plan.Shorten(text, maxOfSeveral)
			isCut = isCut || short != text
			text = short
		}
		parts = append(parts, w.Dependent+" ("+text+")")
	}
	text := what + ": " + strings.Join(parts, ", ")
	if more := len(waiting) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if isCut {
		text += "; status.waiting has the complete messages"
	}
	return text
}
