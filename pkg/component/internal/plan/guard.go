package plan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Guard is what is known of an owner's guard: an admission policy that refuses new instances of types whose definitions are about to be
// deleted, for Kubernetes deletes all instances with their definition. It takes effect a moment after it was written, which a probe tells.
type Guard struct {
	// Name of the policy.
	Name string
	// Definitions are the names of the definitions that it was set up for; nil where that is not known.
	Definitions []string
	// SetUp is when that was.
	SetUp time.Time
	// Probed is when it was probed last. Held is since when every probe found that it holds; zero where none did.
	Probed, Held time.Time
	// Unavailable says that it cannot be set up, or not be probed; then definitions are deleted without.
	Unavailable bool
}

const (
	// probeInterval lies between two probes.
	probeInterval = 200 * time.Millisecond
	// guardHoldTime is how long a guard must have held: a create that was admitted before it is written by then.
	guardHoldTime = 200 * time.Millisecond
	// guardTimeout is how long instances may come and go before the guard holds. It takes effect within a second or so.
	guardTimeout = 5 * time.Second
)

// Key is the key of the guard's policy.
func (g Guard) Key() manifests.Key {
	return manifests.Key{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy", Name: g.Name}
}

// After returns what is known after an action on the guard was answered.
func (g Guard) After(a Action, r Result, now time.Time) Guard {
	switch {
	case !a.Verb.Guards():
		return g
	case a.Verb == VerbProbe:
		return g.probed(r, now)
	case r.Failure != nil:
		g.Unavailable = g.Unavailable || a.Verb == VerbGuard && r.Failure.permanent()
		return g
	}
	g = Guard{Name: g.Name}
	if a.Verb == VerbGuard {
		g.SetUp = now
		for _, d := range a.Definitions {
			g.Definitions = append(g.Definitions, d.Name)
		}
	}
	return g
}

func (g Guard) probed(r Result, now time.Time) Guard {
	holds := r.Observed != nil && r.Observed.Presence == Present
	switch {
	case r.Failure != nil && r.Failure.permanent():
		g.Unavailable = true
		return g
	case !holds:
		g.Held = time.Time{}
	case g.Held.IsZero():
		g.Held = now
	}
	g.Probed = now
	return g
}

// hopeless says that the same would be answered next time.
func (f Failure) permanent() bool { return f.Class == Terminal || f.Reason == WaitNotServed }

// protects says that a definition may be deleted.
func (g Guard) protects(name string, now time.Time) bool {
	return g.Unavailable || slices.Contains(g.Definitions, name) && !g.Held.IsZero() && !now.Before(g.Held.Add(guardHoldTime))
}

// lapsed says that the guard should hold by now, and does not: somebody removed it, perhaps.
func (g Guard) lapsed(now time.Time) bool {
	return !g.SetUp.IsZero() && g.Held.IsZero() && !now.Before(g.SetUp.Add(guardTimeout))
}

// Definition is a definition that a guard is for.
type Definition struct {
	Name string
	UID  types.UID
}

// IsDefinition says that Kubernetes deletes instances with the object.
func IsDefinition(key manifests.Key) bool {
	return key.GroupKind() == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// clearGuarded takes the marks of a guard off the record that was removed in this pass.
func (p *Plan) clearGuarded(f Facts) {
	if r := f.Results[f.Guard.Key()]; r.Verb != VerbUnguard || r.Failure != nil {
		return
	}
	for key, e := range p.Inventory {
		e.Guarded = false
		p.Inventory[key] = e
	}
}

// guarded says that there may be a guard, for one of the entries.
func guarded(entries []metav1alpha1.InventoryEntry) bool {
	return slices.ContainsFunc(entries, func(e metav1alpha1.InventoryEntry) bool { return e.Guarded })
}

// lift plans to remove the guard, or reports why that failed.
func (p *Plan) removeGuard(f Facts, reason Reason) {
	key := f.Guard.Key()
	if r := f.Results[key]; r.Verb == VerbUnguard && r.Failure != nil {
		p.Waiting = append(p.Waiting, Waiting{Key: key, Reason: r.Failure.Reason, Message: r.Failure.Message, Failure: r.Failure})
		return
	}
	p.Actions = append(p.Actions, Action{Verb: VerbUnguard, Key: key, Reason: reason, Owner: f.Owner})
}

// removeGuardOfDesired removes a guard that keeps instances of a desired definition from being created: a deletion was called off.
func (p *Plan) removeGuardOfDesired(f Facts) {
	if slices.ContainsFunc(f.Desired, func(o manifests.Object) bool { return p.Inventory[o.Key].Guarded }) {
		p.removeGuard(f, ReasonUnguard)
	}
}

// recordPossibleGuard notes of a definition that was there before its record that a guard may be left: the component was there before, too, and
// somebody forced it away in the middle of a deletion.
func (p *Plan) recordPossibleGuard(c candidate, found bool) {
	if e := p.Inventory[c.object.Key]; found && IsDefinition(c.object.Key) {
		e.Guarded = true
		p.Inventory[c.object.Key] = e
	}
}

// idle says that the guard protects nothing any more: what it was for is gone, or not to be deleted.
func guardUnneeded(f Facts, removals []metav1alpha1.InventoryEntry, reason Reason) bool {
	return guarded(removals) && !slices.ContainsFunc(defining(f, removals, reason), func(v removal) bool { return v.entry.Guarded })
}

// guardPending returns the definitions whose guard was just set up and does not hold yet. Instances that come meanwhile may go meanwhile,
// too: where many do all the time, there is a moment without any only under the guard.
func guardPending(f Facts, removals []metav1alpha1.InventoryEntry, reason Reason) []removal {
	if f.Guard.SetUp.IsZero() || f.Now.After(f.Guard.SetUp.Add(guardTimeout)) {
		return nil
	}
	return slices.DeleteFunc(defining(f, removals, reason), func(v removal) bool {
		return !v.entry.Guarded || v.protected || v.live.Presence != Present || v.live.Terminating
	})
}

// guard plans what a stage needs whose definitions are not protected yet.
func (p *Plan) guard(f Facts, unprotected []removal) {
	if len(unprotected) == 0 {
		return
	}
	g, r := f.Guard, f.Results[f.Guard.Key()]
	action := Action{Key: g.Key(), Reason: ReasonGuard, Owner: f.Owner}
	for _, v := range unprotected {
		action.Definitions = append(action.Definitions, Definition{Name: v.key.Name, UID: v.live.UID})
	}
	covered := !g.lapsed(f.Now) && !slices.ContainsFunc(unprotected, func(v removal) bool { return !slices.Contains(g.Definitions, v.key.Name) })
	switch {
	case r.Failure != nil && r.Verb != VerbUnguard:
		p.waitForGuard(unprotected, "it cannot be told whether new instances are refused: "+r.Failure.Message, r.Failure)
	case !covered:
		action.Verb = VerbGuard
		p.Actions = append(p.Actions, action)
		p.recordGuarded(unprotected)
	case g.Held.IsZero() && !g.Probed.Equal(f.Now):
		action.Verb = VerbProbe
		action.Definitions = nil
		for _, name := range g.Definitions {
			action.Definitions = append(action.Definitions, Definition{Name: name})
		}
		p.Actions = append(p.Actions, action)
	default:
		p.waitForGuard(unprotected, "new instances are not refused yet", nil)
		p.planAgainAt(f.Now.Add(probeInterval))
	}
}

func (p *Plan) waitForGuard(unprotected []removal, message string, failure *Failure) {
	for _, v := range unprotected {
		p.Waiting = append(p.Waiting, *v.wait(WaitUnguarded, message, failure).waiting)
	}
}

// mark records, before a guard is written, that there may be one: whoever comes after a crash removes it.
func (p *Plan) recordGuarded(unprotected []removal) {
	for _, v := range unprotected {
		e := p.Inventory[v.key]
		p.Record = p.Record || !e.Guarded
		e.Guarded = true
		p.Inventory[v.key] = e
	}
}
