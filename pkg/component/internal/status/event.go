package status

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// reasonRepaired is the reason of the Event of a pass that only repaired dependents of a component that stays ready.
const reasonRepaired = "Repaired"

// reasonApplied is the reason of the Event of a pass that changed dependents of a component which is not ready yet. The
// Event is no report of a problem, so it does not have the reason of the condition Ready.
const reasonApplied = "Applied"

// maxNote is the maximum length of the note of an Event, in bytes. The Events API has this limit.
const maxNote = 1024

// Event is a Kubernetes Event about a component. The zero value means that there is no Event.
type Event struct {
	Type, Reason, Note string
}

// Warning returns an Event of type Warning. A note that is too long for an Event is truncated.
func Warning(reason, note string) Event {
	return Event{corev1.EventTypeWarning, reason, passerror.Truncate(note, maxNote)}
}

// EventOf returns the Event of a pass. The Event describes the changes of dependents, and a new state of the component
// that a person should see. before is the status at the start of the pass, and after is the status at its end. For a
// pass that changed neither dependents nor the state, EventOf returns no Event. There is at most one Event for each
// pass, because an Event for each object would double the load on the API server.
func EventOf(before, after *metav1alpha1.Status, changes []result.Change, v PassResult) Event {
	earlier := withCurrentNames(*before)
	conflict := appears(&earlier, after, metav1alpha1.ConditionRepairConflict)
	news := conflict || v.State != metav1alpha1.StateProgressing &&
		(before.State != v.State || v.NeedsPerson() && readyOf(before).Message != readyOf(after).Message)
	if len(changes) == 0 && !news {
		return Event{}
	}
	kind := corev1.EventTypeNormal
	if v.NeedsPerson() || conflict {
		kind = corev1.EventTypeWarning
	}
	var notes []string
	if len(changes) > 0 {
		notes = append(notes, describeChanges(changes))
	}
	if news {
		notes = append(notes, v.Message)
	}
	reason := v.Reason
	switch {
	case news:
	case v.State == metav1alpha1.StateProgressing:
		reason = reasonApplied
	case v.State == metav1alpha1.StateReady && sameRendition(before, after):
		reason = reasonRepaired
	}
	return Event{kind, reason, passerror.Truncate(strings.Join(notes, "; "), maxNote)}
}

func sameRendition(a, b *metav1alpha1.Status) bool {
	return a.Revision == b.Revision && a.Rendition == b.Rendition
}

// ChangesEvent returns the Event of a pass that changed dependents and could not write its status.
func ChangesEvent(status *metav1alpha1.Status, changes []result.Change) Event {
	v := PassResult{State: metav1alpha1.StateProgressing, Reason: metav1alpha1.ReasonDependentsNotReady}
	return EventOf(status, status, changes, v)
}

// LogLine returns the keys and values of the log line of a pass. LogLine returns nil for a pass that changed neither
// dependents nor the state of the component.
func LogLine(before, after *metav1alpha1.Status, changes []result.Change) []any {
	was, is := readyOf(before), readyOf(after)
	stalled := meta.IsStatusConditionTrue(after.Conditions, metav1alpha1.ConditionStalled)
	news := after.State != before.State || is.Reason != was.Reason || stalled && is.Message != was.Message
	if len(changes) == 0 && !news {
		return nil
	}
	return []any{"changes", CountVerbs(changes), "state", after.State, "reason", is.Reason, "message", is.Message}
}

// CountVerbs returns a text with the number of changes for each verb, in the order in which the verbs occur first.
func CountVerbs(changes []result.Change) string {
	return countBy(
		changes,
		func(c result.Change) string { return strings.ToLower(c.Verb) },
		func(verb string, n int) string {
			return fmt.Sprintf("%s %d", verb, n)
		},
	)
}

// describeChanges returns a text with the number of changes for each wave and verb. If there is a single change, the
// text names its object.
func describeChanges(changes []result.Change) string {
	if len(changes) == 1 {
		c := changes[0]
		return fmt.Sprintf("%s %s in wave %d: %s", strings.ToLower(c.Verb), c.Key, c.Wave, describeReason(c))
	}
	type group struct {
		wave int
		verb string
	}
	text := countBy(changes, func(c result.Change) group { return group{c.Wave, strings.ToLower(c.Verb)} },
		func(g group, n int) string { return fmt.Sprintf("%s %d in wave %d", g.verb, n, g.wave) })
	adopted := slices.DeleteFunc(slices.Clone(changes), func(c result.Change) bool { return c.From == "" })
	if len(adopted) > 0 {
		text += "; adopted from " + countBy(adopted, func(c result.Change) string { return c.From },
			func(from string, n int) string { return fmt.Sprintf("%s %d", from, n) })
	}
	parts := []string{text}
	for _, c := range changes {
		switch {
		case c.Note == "":
		case c.From != "":
			parts = append(parts, fmt.Sprintf("%s: %s", c.Key, c.Note))
		default:
			parts = append(parts, fmt.Sprintf("%s: %s", c.Key, describeReason(c)))
		}
	}
	return strings.Join(parts, "; ")
}

// describeReason returns the reason of a change. The reason of an adoption also says who had the object, and what a
// user has to know besides.
func describeReason(c result.Change) string {
	text := c.Reason
	if c.From != "" && c.From != plan.FromNobody {
		text += ", adopted from " + c.From
	}
	if c.Note != "" {
		text += "; " + c.Note
	}
	return text
}

// countBy counts the changes by group, in the order in which the groups occur first, and joins the texts of the groups.
func countBy[G comparable](changes []result.Change, groupOf func(result.Change) G, text func(G, int) string) string {
	counts := map[G]int{}
	var order []G
	for _, c := range changes {
		g := groupOf(c)
		if counts[g] == 0 {
			order = append(order, g)
		}
		counts[g]++
	}
	parts := make([]string, 0, len(order))
	for _, g := range order {
		parts = append(parts, text(g, counts[g]))
	}
	return strings.Join(parts, ", ")
}

// appears reports whether a condition is present after a pass, and was not present before the pass.
func appears(before, after *metav1alpha1.Status, kind string) bool {
	return meta.FindStatusCondition(before.Conditions, kind) == nil &&
		meta.FindStatusCondition(after.Conditions, kind) != nil
}

// readyOf returns the condition Ready of a status, or the zero value if the status has no such condition.
func readyOf(status *metav1alpha1.Status) metav1.Condition {
	if c := meta.FindStatusCondition(status.Conditions, metav1alpha1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{}
}
