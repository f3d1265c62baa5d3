package plan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Guard is the state of the guard of a component. A guard is an admission policy that refuses new instances of types
// whose definitions are about to be deleted, because Kubernetes deletes all instances with their definition. A policy
// takes effect a moment after it is written. The operator detects this moment by probes: requests that are refused only
// when the policy is in effect.
type Guard struct {
	// Name is the name of the policy. Owner is the readable form of the owner id of the component.
	Name, Owner string
	// Definitions are the names of the definitions that the guard was set up for; nil if they are not known.
	Definitions []string
	// SetUp is the time at which the guard was set up.
	SetUp time.Time
	// Probed is the time of the last probe. EffectiveSince is the time of the first probe that found the guard in
	// effect, if all later probes also found it in effect. EffectiveSince is zero if the last probe found the guard not
	// in effect.
	Probed, EffectiveSince time.Time
	// Unavailable is set if the guard cannot be set up or probed. Definitions are then deleted without a guard.
	Unavailable bool
}

const (
	// probeInterval is the time between two probes.
	probeInterval = 200 * time.Millisecond
	// guardSettleTime is how long a guard must be in effect before a definition is deleted. After this time, instances
	// that were admitted just before the guard took effect are stored, so that a list request returns them.
	guardSettleTime = 200 * time.Millisecond
	// guardTimeout is the time after which a guard that is not in effect is set up again. A guard usually takes effect
	// in less than a second.
	guardTimeout = 5 * time.Second
)

// GuardName returns the name of the guard of an owner.
func GuardName(reconciler, ownerID string) string { return "guard-" + ownerID + "." + reconciler }

// Key returns the key of the policy.
func (g Guard) Key() manifests.Key {
	return manifests.Key{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy", Name: g.Name}
}

// After returns the state of the guard after an action with the given result.
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
	g = Guard{Name: g.Name, Owner: g.Owner}
	if a.Verb == VerbGuard {
		g.SetUp = now
		for _, d := range a.Definitions {
			g.Definitions = append(g.Definitions, d.Name)
		}
	}
	return g
}

func (g Guard) probed(r Result, now time.Time) Guard {
	inEffect := r.Observed != nil && r.Observed.Presence == Present
	switch {
	case r.Failure != nil && r.Failure.permanent():
		g.Unavailable = true
		return g
	case !inEffect:
		g.EffectiveSince = time.Time{}
	case g.EffectiveSince.IsZero():
		g.EffectiveSince = now
	}
	g.Probed = now
	return g
}

// LastUsed returns the time at which the guard was last set up or probed. It is zero if no guard is known.
func (g Guard) LastUsed() time.Time {
	if g.Probed.After(g.SetUp) {
		return g.Probed
	}
	return g.SetUp
}

// protects reports whether the definition with the given name may be deleted, because the guard covers it and has been
// in effect for long enough, or because a guard cannot be set up.
func (g Guard) protects(name string, now time.Time) bool {
	settled := !g.EffectiveSince.IsZero() && !now.Before(g.EffectiveSince.Add(guardSettleTime))
	return g.Unavailable || slices.Contains(g.Definitions, name) && settled
}

// overdue reports whether the guard has not taken effect within guardTimeout. A client may have removed the policy.
func (g Guard) overdue(now time.Time) bool {
	return !g.SetUp.IsZero() && g.EffectiveSince.IsZero() && !now.Before(g.SetUp.Add(guardTimeout))
}

// Definition is a CustomResourceDefinition whose new instances a guard refuses.
type Definition struct {
	Name string
	UID  types.UID
}

// removeGuard plans the removal of the guard. If the removal failed in this pass, the plan waits and reports the
// failure.
func (p *Plan) removeGuard(f Facts) {
	key := f.Guard.Key()
	if r := f.Results[key]; r.Verb == VerbUnguard && r.Failure != nil {
		f := r.Failure
		p.Waiting = append(p.Waiting, Waiting{Key: key, Reason: f.Reason, Message: f.Message, Failure: f})
		return
	}
	p.Actions = append(p.Actions, Action{Verb: VerbUnguard, Key: key, Reason: ReasonUnguard, Owner: f.Owner})
}

// removeGuardOfDesired removes the guard if the entry of a desired definition says that it is guarded. A deletion that
// was cancelled has set up this guard. The guard would refuse new instances of the desired definition.
func (p *Plan) removeGuardOfDesired(f Facts) {
	if slices.ContainsFunc(f.Desired, func(o manifests.Object) bool { return p.Inventory[o.Key].Guarded }) {
		p.removeGuard(f)
	}
}

// notePossibleGuard notes that a guard may exist for a definition, if the definition exists before it has an entry. An
// earlier component of the same name may have set up the guard, and its finalizer may have been removed by force during
// its deletion.
func (inv Inventory) notePossibleGuard(c candidate, found bool) {
	if e := inv[c.object.Key]; found && IsDefinition(c.object.Key) {
		e.Guarded = true
		inv[c.object.Key] = e
	}
}

// guardUnneeded reports whether a guard may exist that is not needed, because each of its definitions does not exist or
// is not to be deleted.
func guardUnneeded(f Facts, removals []metav1alpha1.InventoryEntry, reason Reason) bool {
	return anyGuarded(removals) &&
		!slices.ContainsFunc(defining(f, removals, reason), func(r removal) bool { return r.entry.Guarded })
}

// guardPending returns the definitions whose guard was just set up and is not in effect yet. While the guard takes
// effect, foreign instances do not block a deletion. Clients may create and delete instances all the time; then the
// number of instances falls to zero only when the guard refuses new instances.
func guardPending(f Facts, removals []metav1alpha1.InventoryEntry, reason Reason) []removal {
	if f.Guard.SetUp.IsZero() || f.Now.After(f.Guard.SetUp.Add(guardTimeout)) {
		return nil
	}
	return slices.DeleteFunc(defining(f, removals, reason), func(r removal) bool {
		return !r.entry.Guarded || r.protected || r.live.Presence != Present || r.live.Terminating
	})
}

// guard plans the guard for definitions that are not protected yet: its setup, or a probe, or a wait for the next
// probe.
func (p *Plan) guard(f Facts, unprotected []removal) {
	if len(unprotected) == 0 {
		return
	}
	g, result := f.Guard, f.Results[f.Guard.Key()]
	action := Action{Key: g.Key(), Reason: ReasonGuard, Owner: f.Owner, OwnerName: g.Owner}
	for _, r := range unprotected {
		action.Definitions = append(action.Definitions, Definition{Name: r.key.Name, UID: r.live.UID})
	}
	covered := !g.overdue(f.Now) &&
		!slices.ContainsFunc(unprotected, func(r removal) bool { return !slices.Contains(g.Definitions, r.key.Name) })
	switch {
	case result.Failure != nil && result.Verb != VerbUnguard:
		message := "the admission policy against new instances could not be set up or tested: " + result.Failure.Message
		p.waitForGuard(unprotected, message, result.Failure)
	case !covered:
		action.Verb = VerbGuard
		p.Actions = append(p.Actions, action)
		p.noteGuarded(unprotected)
	case g.EffectiveSince.IsZero() && !g.Probed.Equal(f.Now):
		action.Verb = VerbProbe
		action.Definitions = nil
		for _, name := range g.Definitions {
			action.Definitions = append(action.Definitions, Definition{Name: name})
		}
		p.Actions = append(p.Actions, action)
	default:
		p.waitForGuard(unprotected, "the admission policy against new instances is not in effect yet", nil)
		p.planAgainAt(f.Now.Add(probeInterval))
	}
}

func (p *Plan) waitForGuard(unprotected []removal, message string, failure *Failure) {
	for _, r := range unprotected {
		p.Waiting = append(p.Waiting, *r.wait(WaitUnguarded, message, failure).waiting)
	}
}

// noteGuarded sets the field Guarded in the inventory entries of the definitions that are to be deleted. The
// inventory is written before the guard, the admission policy that denies new instances. So after a crash the next pass
// knows that the guard may exist, and removes the guard if it is not needed.
func (p *Plan) noteGuarded(unprotected []removal) {
	for _, r := range unprotected {
		e := p.Inventory[r.key]
		p.WriteInventory = p.WriteInventory || !e.Guarded
		e.Guarded = true
		p.Inventory[r.key] = e
	}
}
