package causes

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const (
	// Delay is the time after which the Events of a dependent that is not ready are read.
	Delay = 30 * time.Second
	// heldFor is the time after which a pass reads again what holds a deletion. No pass is asked for because of it.
	heldFor = 2 * time.Minute
	// maxDependents bounds the dependents of a component whose Events are read. The status shows no more.
	maxDependents = 10
)

// Object is a live dependent that is not ready, or is being deleted.
type Object struct {
	Key        manifests.Key
	UID        types.UID
	Generation int64
	// Deleting is set if the component waits until the object no longer exists.
	Deleting bool
}

// State is what the process remembers of the dependents of a component that are not ready. The zero value is ready to
// use, by one pass at a time.
type State struct {
	unready map[Object]wait
}

// wait is the time since when an object is not ready, and the time when its cause was read, with what was found.
type wait struct {
	since time.Time
	read  time.Time
	cause string
}

// isRead reports whether the cause holds: the Events of an object are read once, but what holds a deletion changes.
func (w wait) isRead(o Object, now time.Time) bool {
	return !w.read.IsZero() && (!o.Deleting || now.Before(w.read.Add(heldFor)))
}

// Note notes the dependents that are not ready at the end of a pass, and forgets all others. before is the status at
// the start of the pass: a dependent that it lists was not ready before the process started. Note returns the objects
// whose Events are to be read now, and the time when the Events of the next ones are due, zero if there are none.
func (m *State) Note(
	waiting []result.Waiting, before *metav1alpha1.Status, now time.Time,
) (due []Object, next time.Time) {
	unready := map[Object]wait{}
	for _, w := range waiting[:min(len(waiting), maxDependents)] {
		if w.UID == "" {
			continue
		}
		object := objectOf(w)
		known, found := m.unready[object]
		if !found {
			known = wait{since: sinceOf(w, before, now)}
		}
		switch at := known.since.Add(Delay); {
		case known.isRead(object, now):
		case !now.Before(at):
			known.read = now
			due = append(due, object)
		case next.IsZero() || at.Before(next):
			next = at
		}
		unready[object] = known
	}
	m.unready = unready
	if len(unready) == 0 {
		m.unready = nil
	}
	return due, next
}

// sinceOf returns the time since when a dependent is not ready, as far as it is known.
func sinceOf(w result.Waiting, before *metav1alpha1.Status, now time.Time) time.Time {
	listed := slices.ContainsFunc(before.Waiting, func(r metav1alpha1.DependentReport) bool {
		return r.Dependent == w.Dependent && r.Reason == w.Reason
	})
	unready := meta.FindStatusCondition(before.Conditions, metav1alpha1.ConditionReady)
	switch {
	case !listed:
	case before.ProgressingSince != nil:
		return before.ProgressingSince.Time
	case unready != nil && unready.Status == metav1.ConditionFalse:
		// In a deletion, or while the component waits for another one.
		return unready.LastTransitionTime.Time
	}
	return now
}

// Learn notes what was read of an object that was due; empty if nothing shows a cause.
func (m *State) Learn(o Object, cause string) {
	if known, found := m.unready[o]; found {
		known.cause = cause
		m.unready[o] = known
	}
}

// Explain returns the waiting dependents with the known causes in their messages.
func (m *State) Explain(waiting []result.Waiting) []result.Waiting {
	if len(m.unready) == 0 {
		return waiting
	}
	explained := slices.Clone(waiting)
	for i := range explained {
		w := &explained[i]
		switch cause := m.unready[objectOf(*w)].cause; {
		case cause == "":
		case w.Message == "":
			w.Message = cause
		default:
			w.Message += "; " + cause
		}
	}
	return explained
}

func objectOf(w result.Waiting) Object {
	deleting := w.Reason == string(plan.WaitNotGone) || w.Reason == string(plan.WaitTerminating)
	return Object{Key: w.Key, UID: w.UID, Generation: w.Generation, Deleting: deleting}
}
