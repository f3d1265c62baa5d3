package fair

import "time"

// Accounts are the times that namespaces have spent. A namespace that comes back has no credit for the time in which it
// had nothing to render. The zero value is ready to use.
type Accounts struct{ spent map[string]time.Duration }

// Spent returns the time that each namespace has spent. The caller must not change the map.
func (a *Accounts) Spent() map[string]time.Duration { return a.spent }

// Charge adds time that a namespace has spent.
func (a *Accounts) Charge(namespace string, d time.Duration) {
	if a.spent == nil {
		a.spent = map[string]time.Duration{}
	}
	a.spent[namespace] += max(0, d)
}

// Enter is called before a request of a namespace enters the line of a state. If the namespace has no other request
// there, it begins with at least the time that the others have spent, and accounts that no longer matter are forgotten.
func (a *Accounts) Enter(namespace string, s State, now time.Time) {
	present := map[string]bool{}
	for _, list := range [][]*Rendering{s.Running, s.Waiting} {
		for _, r := range list {
			present[r.Namespace] = true
		}
	}
	if present[namespace] {
		return
	}
	if len(present) == 0 {
		a.spent = nil
		return
	}
	s.Spent = a.spent
	cost, floor, first := costs(s, now), time.Duration(0), true
	for other := range present {
		if first || cost[other] < floor {
			floor, first = cost[other], false
		}
	}
	if a.spent[namespace] < floor {
		a.Charge(namespace, floor-a.spent[namespace])
	}
	for other, spent := range a.spent {
		if !present[other] && other != namespace && spent <= floor {
			delete(a.spent, other)
		}
	}
}
