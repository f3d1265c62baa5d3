package component

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
)

// maxNote is the limit of the events API for a note.
const maxNote = 1024

// emit tells of a pass in one event: what it changed, and what is newly wrong. A pass that changed nothing and found nothing new is
// silent; an event for each object would double the load on the API server.
func (r *Reconciler[T]) emit(component T, changes []Change, v verdict, before *metav1alpha1.Status) {
	contest := appears(before, component.GetStatus(), metav1alpha1.ConditionContested)
	news := contest || v.state != metav1alpha1.StateProgressing && (before.State != v.state || isStuck(v) && told(before) != told(component.GetStatus()))
	if len(changes) == 0 && !news {
		return
	}
	kind := corev1.EventTypeNormal
	if isStuck(v) || contest {
		kind = corev1.EventTypeWarning
	}
	var notes []string
	if len(changes) > 0 {
		notes = append(notes, describeChanges(changes))
	}
	if news {
		notes = append(notes, v.message)
	}
	r.recorder.Eventf(component, nil, kind, v.reason, "Reconcile", "%s", condition.Truncate(strings.Join(notes, "; "), maxNote))
}

// tellChanges tells of a pass that changed dependents, and whose status was not written.
func (r *Reconciler[T]) tellChanges(ctx context.Context, component T, o Outcome) {
	status := component.GetStatus()
	r.emit(component, o.Changes, verdict{state: metav1alpha1.StateProgressing, reason: metav1alpha1.ReasonDependentsNotReady}, status)
	logPass(ctx, o.Changes, status, status)
}

// appears says that a condition is present in a status, and was not in the one before.
func appears(before, after *metav1alpha1.Status, kind string) bool {
	return meta.FindStatusCondition(before.Conditions, kind) == nil && meta.FindStatusCondition(after.Conditions, kind) != nil
}

// isStuck says that a person has to look at the component.
func isStuck(v verdict) bool {
	return v.state == metav1alpha1.StateStalled || v.state == metav1alpha1.StateDeletionBlocked
}

// told returns what a status says of readiness.
func told(status *metav1alpha1.Status) string {
	if c := meta.FindStatusCondition(status.Conditions, metav1alpha1.ConditionReady); c != nil {
		return c.Message
	}
	return ""
}

// describeChanges counts the changes by wave and verb, and names the object where there is only one.
func describeChanges(changes []Change) string {
	if len(changes) == 1 {
		c := changes[0]
		return fmt.Sprintf("%s %s in wave %d: %s", strings.ToLower(c.Verb), c.Key, c.Wave, c.Reason)
	}
	type group struct {
		wave int
		verb string
	}
	counts := map[group]int{}
	var order []group
	for _, c := range changes {
		g := group{c.Wave, strings.ToLower(c.Verb)}
		if counts[g] == 0 {
			order = append(order, g)
		}
		counts[g]++
	}
	var parts []string
	for _, g := range order {
		parts = append(parts, fmt.Sprintf("%s %d in wave %d", g.verb, counts[g], g.wave))
	}
	return strings.Join(parts, ", ")
}
