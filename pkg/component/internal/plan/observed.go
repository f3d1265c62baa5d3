package plan

import (
	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ruleObserved makes the component wait until an object with the reconcile policy observe exists and is ready. The
// object is never written. An exception is an object that the component applied before: it is released first.
func ruleObserved(c candidate) (decision, bool) {
	if !c.object.Settings.IsObserved() {
		return decision{}, false
	}
	switch c.live.Presence {
	case Unknown:
		return decideUnknown(c), true
	case Absent:
		return c.wait(
			WaitAbsent,
			"it does not exist; the component only observes it, and waits until somebody creates it",
		), true
	case Present:
	}
	if c.isOursStill() {
		d := c.act(VerbOrphan, ReasonObserved)
		d.repair, d.action.Object = true, nil
		return d, true
	}
	if c.live.Terminating {
		return c.wait(
			WaitTerminating,
			whyTerminating(c.live)+"; the component only observes it, and waits for another one",
		), true
	}
	d, _ := ruleInSync(c)
	if d.waiting != nil {
		// The causes are read for dependents of the component only.
		d.waiting.UID, d.waiting.Generation = "", 0
	}
	return d, true
}

// decideUnknown returns the decision about an observed object whose state is not known: it is read, once in a pass.
func decideUnknown(c candidate) decision {
	switch {
	case c.live.unwatched():
		d := c.act(VerbRead, ReasonObserved)
		d.repair = true
		return d
	case c.live.Reason == WaitUnauthorized || c.live.Reason == WaitNotListable:
		return c.fail(Failure{Class: Terminal, Reason: c.live.Reason, Message: c.live.Message})
	case c.live.Failure != nil:
		return c.fail(*c.live.Failure)
	}
	return c.wait(c.live.Reason, c.live.Message)
}

// isOursStill reports whether an observed object has an entry, because an earlier manifest applied it, and is not
// released yet.
func (c candidate) isOursStill() bool {
	recorded := c.entry.Kind != ""
	if !recorded || c.live.Owner != "" && c.live.Owner != c.owner {
		return false
	}
	return c.live.Owner == c.owner || c.live.UID == c.entry.UID && !c.live.orphaned()
}

// observedEntry returns the entry of an object that the component only observes.
func observedEntry(o *manifests.Object) metav1alpha1.InventoryEntry {
	return metav1alpha1.InventoryEntry{
		Group: o.Key.Group, Version: o.Version, Kind: o.Key.Kind, Namespace: o.Key.Namespace, Name: o.Key.Name,
		Order: o.Settings.Order,
	}
}

// addObserved adds the decision about an observed object to the plan. The object has no inventory entry. The entry of
// an earlier manifest is dropped when the object is released or no longer exists.
func (p *Plan) addObserved(c candidate, d decision) {
	o := c.object
	p.Observed = append(p.Observed, observedEntry(o))
	if c.live.Presence != Unknown && (c.live.Presence == Absent || !c.isOursStill()) {
		delete(p.Inventory, o.Key)
	}
	switch {
	case d.action != nil:
		p.Applied = false
	case d.waiting != nil:
		p.Waiting = append(p.Waiting, *d.waiting)
		p.Applied = p.Applied && d.applied
	default:
		p.Ready++
	}
}
