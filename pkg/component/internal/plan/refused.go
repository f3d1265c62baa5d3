package plan

import (
	"slices"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ruleRefused returns the failure of a manifest that the API server would refuse.
func ruleRefused(c candidate) (decision, bool) {
	if c.refused == nil {
		return decision{}, false
	}
	return c.fail(*c.refused), true
}

// collect adds the write of a manifest that was not applied yet to Unapplied. A repair and an object that only waits
// are left out. So is an external, which no API server validates. An object that waits for the values of its holes is
// added as a create or an update; see Facts.Unbound. For an object that must be read first, see Unread and
// collectUnwatched.
func (p *Plan) collect(f Facts, c candidate, d decision) {
	if !f.Validate || c.applied() || c.object.Key.IsExternal() || c.object.Settings.IsObserved() {
		return
	}
	switch verb := d.verb(); {
	case d.applied && c.unbound != nil:
	case verb == VerbRead:
		p.unread = append(p.unread, *d.action)
		if c.live.unwatched() {
			p.collectUnwatched(c)
		}
	case verb != "" && verb.Writes():
		p.Unapplied = append(p.Unapplied, *d.action)
	default:
		p.collectWaiting(c, d)
	}
}

// collectUnwatched adds the write of a new manifest whose object no watch shows: the update of a recorded object, else
// a create. The object is read in its wave, so other objects would be written before its manifest is checked. If the
// object exists in another state than assumed, its dry run is a conflict, which refuses nothing. A write that the
// reconcile policy does not permit is left out.
func (p *Plan) collectUnwatched(c candidate) {
	isRecorded := c.entry.UID != "" || c.entry.Completed
	if !isRecorded && c.reconcile == metav1alpha1.ReconcileUpdateOnly || isRecorded && !c.updates() {
		return // The reconcile policy writes nothing.
	}
	if c.entry.UID == "" {
		p.Unapplied = append(p.Unapplied, *c.act(VerbCreate, ReasonNew).action)
		return
	}
	c.live.UID = c.entry.UID
	if update := c.update(ReasonChanged).action; update != nil {
		p.Unapplied = append(p.Unapplied, *update)
	}
}

// collectWaiting adds the write of a new manifest that waits for its type, or for the values of its holes.
func (p *Plan) collectWaiting(c candidate, d decision) {
	w := d.waiting
	switch {
	case w == nil:
	case w.Reason == WaitExport && c.live.Presence == Present:
		p.Unapplied = append(p.Unapplied, *c.act(VerbApply, ReasonChanged).action)
	case w.Reason == WaitExport, w.Reason == WaitNotServed && w.Failure == nil:
		p.Unapplied = append(p.Unapplied, *c.act(VerbCreate, ReasonNew).action)
	}
}

// collectPhases adds the objects that a later deletion applies to Unapplied, as creates, if other manifests are applied
// for the first time. Those that the API server would refuse are failures of the plan.
func (p *Plan) collectPhases(f Facts) {
	first := f.Validate && len(p.Unapplied) > 0
	for i := range f.Phases {
		o := &f.Phases[i]
		isDesired := slices.ContainsFunc(f.Desired, func(other manifests.Object) bool { return other.Key == o.Key })
		// The values of holes are not known before the deletion.
		if isDesired || o.Key.IsExternal() || o.Settings.Binds() {
			continue
		}
		switch c := newCandidate(f, o); {
		case c.refused != nil:
			p.Waiting = append(p.Waiting, *c.fail(*c.refused).waiting)
			p.Applied = false
		case first:
			p.Unapplied = append(p.Unapplied, *c.act(VerbCreate, ReasonNew).action)
		}
	}
}

// verb returns the verb of an action on a manifest; empty if there is none.
func (d decision) verb() Verb {
	if d.action == nil || d.action.Object == nil {
		return ""
	}
	return d.action.Verb
}
