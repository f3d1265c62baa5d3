package plan

import "github.com/fairlead-io/fairlead/pkg/manifests"

// ruleRefused returns the failure of a manifest that the API server would refuse.
func ruleRefused(c candidate) (decision, bool) {
	if c.refused == nil {
		return decision{}, false
	}
	return c.fail(*c.refused), true
}

// collect adds the write of a manifest that was not applied yet to Unapplied. A repair, an object that only waits, and
// an object with holes are left out. So is an external, which no API server validates. For an object that must be read
// first, see Unread.
func (p *Plan) collect(f Facts, c candidate, d decision) {
	if !f.Validate || c.unbound != nil || c.applied() || c.object.Key.IsExternal() || c.object.Settings.IsObserved() {
		return
	}
	switch {
	case d.action != nil && d.action.Object != nil && d.action.Verb == VerbRead:
		if p.unread == nil {
			p.unread = map[manifests.Key]bool{}
		}
		p.unread[c.object.Key] = true
	case d.action != nil && d.action.Object != nil && d.action.Verb.Writes():
		p.Unapplied = append(p.Unapplied, *d.action)
	case d.waiting != nil && d.waiting.Failure == nil && d.waiting.Reason == WaitNotServed:
		p.Unapplied = append(p.Unapplied, *c.act(VerbCreate, ReasonNew).action)
	}
}
