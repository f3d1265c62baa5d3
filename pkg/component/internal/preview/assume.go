package preview

import (
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// wait adds the waits of a plan to the forecast, and simulates their end. added is set if the plan contains a wait that
// no earlier plan contained.
func (r *simulation) wait(p plan.Plan) (added bool) {
	last := func(w plan.Waiting) bool { return w.Reason == plan.WaitUndecided || r.waitsForValue(w) }
	return r.waitFor(p, func(w plan.Waiting) bool { return !last(w) }) || r.waitFor(p, last)
}

// waitsForValue reports whether an object waits for a value that it binds, also if this wait has timed out.
func (r *simulation) waitsForValue(w plan.Waiting) bool {
	_, unbound := r.facts.Unbound[w.Key]
	return w.Reason == plan.WaitExport || w.Reason == plan.WaitTimeout && unbound
}

// waitFor simulates the end of the waits that match.
func (r *simulation) waitFor(p plan.Plan, matches func(plan.Waiting) bool) (added bool) {
	listed := applier.OutcomeOf(p, nil).Waiting
	for i, w := range p.Waiting {
		if !matches(w) || w.Reason == plan.WaitDependency {
			// The wait for a dependency ends when the wait of the dependency ends.
			continue
		}
		name := fmt.Sprintf("%s %s %d", w.Key, w.Reason, p.Inventory[w.Key].Occurrence)
		if r.waited[name] {
			continue
		}
		added, r.waited[name] = true, true
		if r.waitsForValue(w) && r.bindsUnasked(w.Key) {
			r.addUnasked(w)
		} else {
			r.forecast.Waiting = append(r.forecast.Waiting, listed[i])
		}
		if w.Failure != nil || w.Reason == plan.WaitNotServed {
			r.enterAdoption(w)
			r.held, r.touched[w.Key] = true, true
		}
		r.assume(w)
	}
	return added
}

// assume simulates the end of a wait.
func (r *simulation) assume(w plan.Waiting) {
	was := r.facts.Live.Of(w.Key)
	ofKey := func(o manifests.Object) bool { return o.Key == w.Key }
	i := slices.IndexFunc(r.facts.Desired, ofKey)
	var now plan.Observed
	switch {
	case r.saysNothing(w):
		return
	case w.Reason == plan.WaitNotServed && i >= 0 && r.facts.Desired[i].Scope == manifests.ScopeUnknown:
		// The simulation goes on as if the object stayed as it is. Without an entry it is left out. With one it must stay in
		// the apply set, because it would be pruned otherwise.
		_, recorded := r.facts.Inventory[w.Key]
		r.unserved[w.Key], r.leftOut[w.Key], r.touched[w.Key] = recorded, !recorded, true
		return
	case w.Reason == plan.WaitUndecided:
		// The simulation goes on as if the object stayed as it is.
		r.conditional[w.Key], r.touched[w.Key] = true, true
		return
	case r.waitsForValue(w):
		// The value is not known, so the object is not sent as a dry run.
		r.unbound[w.Key] = true
		r.touched[w.Key] = r.touched[w.Key] || !r.bindsUnasked(w.Key)
		now = simulateApplied(plan.Action{Key: w.Key, Owner: r.facts.Owner, Object: r.object(w.Key)}, was)
	case isRemoval(w.Reason), i < 0 && !r.inPhase(w.Key):
		now, r.away[w.Key] = simulateDeleted(was), true
	case w.Failure == nil && was.Presence == plan.Present, w.Reason == plan.WaitDependentFailed:
		now = simulateReady(was)
	default:
		now = simulateApplied(plan.Action{Key: w.Key, Owner: r.facts.Owner, Object: r.object(w.Key)}, was)
		r.touched[w.Key] = true
	}
	r.written[w.Key] = true
	r.facts.Results[w.Key] = plan.Result{Verb: plan.VerbApply, Observed: &now}
}

// saysNothing reports whether the end of a wait does not say what happens to the object: the next rendering is not
// known, or the wait for a dependency has timed out, and the object is applied when that wait ends.
func (r *simulation) saysNothing(w plan.Waiting) bool {
	absent := r.facts.Live.Of(w.Key).Presence != plan.Present
	return w.Reason == plan.WaitOpenSet || w.Reason == plan.WaitTimeout && absent && !r.waitsForValue(w)
}

// isRemoval reports whether a wait ends when the object no longer exists.
func isRemoval(reason plan.WaitReason) bool {
	return reason == plan.WaitTerminating || reason == plan.WaitNotGone || reason == plan.WaitNotEmpty ||
		reason == plan.WaitUnguarded
}

// object returns the manifest with the given key, or nil if there is no such manifest. For an object with several
// occurrences it returns the manifest of the recorded occurrence.
func (r *simulation) object(key manifests.Key) (found *manifests.Object) {
	for _, objects := range [][]manifests.Object{r.facts.Desired, r.facts.PreDelete, r.facts.PostDelete} {
		for i := range objects {
			current := objects[i].Occurrence == r.facts.Inventory[key].Occurrence-1
			if objects[i].Key == key && (found == nil || current) {
				found = &objects[i]
			}
		}
	}
	return found
}

func (r *simulation) inPhase(key manifests.Key) bool {
	return len(r.facts.Desired) == 0 && r.object(key) != nil
}
