package plan

import (
	"cmp"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ruleOnce leaves alone what was applied, whatever became of it since; it is still pruned, purged and deleted. Where a crash kept the record
// from knowing, the owner on the object tells that it was applied.
func ruleOnce(c candidate) (decision, bool) {
	recorded := c.entry.UID != "" || c.entry.Completed
	ours := c.live.Presence == Present && c.live.Owner == c.owner
	if c.reconcile != metav1alpha1.ReconcileOnce || !recorded && !ours {
		return decision{}, false
	}
	var d decision
	if c.live.Presence == Present && c.live.UID == cmp.Or(c.entry.UID, c.live.UID) && !c.live.Terminating {
		d, _ = ruleInSync(c)
	}
	if !recorded {
		e := c.newEntry()
		e.UID, e.Digest = c.live.UID, c.live.Digest
		d.entry = &e
	}
	return d, true
}

// ruleTriggered applies what follows the component. A write that changes nothing is enough: it is recorded, and not repeated.
func ruleTriggered(c candidate) (decision, bool) {
	if !c.triggered() || c.renderedAgain() {
		return decision{}, false
	}
	return c.again(ReasonTriggered), true
}

// again applies in place what looks in sync, and records it once that is done.
func (c candidate) again(reason Reason) decision {
	if !c.written() {
		d := c.update(reason)
		d.repair = false
		if d.action != nil {
			d.action.Forced = true
		}
		return d
	}
	d, _ := ruleInSync(c)
	e := c.entry
	if d.entry != nil {
		e = *d.entry
	}
	e.Trigger, e.AppliedAt = c.followed(), c.stamp()
	d.entry = &e
	return d
}

// followed is the state of the component that a write is recorded with: none, where the object does not follow the component.
func (c candidate) followed() string {
	if c.reconcile != metav1alpha1.ReconcileOnObjectOrComponentChange {
		return ""
	}
	return c.trigger
}

// triggered says that the component changed since the object was applied, and that the object follows it.
func (c candidate) triggered() bool { return c.followed() != "" && c.followed() != c.entry.Trigger }

// renewed says that what was applied would be applied again by its reconcile policy.
func (c candidate) renewed() bool {
	switch {
	case c.entry.Digest == "", c.reconcile == metav1alpha1.ReconcileOnce:
		return false
	case !c.sameInputs && !manifests.SameContent(c.entry.Digest, c.object.Digest):
		return true
	}
	return c.triggered()
}

// renewal is the reason why what did its work is created again.
func (c candidate) renewal() Reason {
	if manifests.SameContent(c.entry.Digest, c.object.Digest) && c.triggered() {
		return ReasonTriggered
	}
	return ReasonChanged
}

// renderedAgain says that the manifest differs from what was applied although the inputs are the same: then what was applied stays.
func (c candidate) renderedAgain() bool { return c.sameInputs && c.entry.Digest != c.object.Digest }

// stamp is the time that a write is recorded with: none, where the object has no reapply interval. It is rounded up, so that the object is
// never due at once.
func (c candidate) stamp() int64 {
	if c.reapply <= 0 || c.reconcile == metav1alpha1.ReconcileOnce {
		return 0
	}
	return c.now.Add(time.Second - 1).Unix()
}

// settled returns the record of an object that is applied, with the settings that count from now on: a change of those need not be written
// to the object.
func (c candidate) settled(e metav1alpha1.InventoryEntry) metav1alpha1.InventoryEntry {
	e.Revision, e.Rendition = c.revision, c.rendition
	e.Order, e.DeleteOrder = c.object.Settings.Order, c.object.Settings.DeleteOrder
	switch stamp := c.stamp(); {
	case stamp == 0:
		e.AppliedAt = 0
	case e.AppliedAt == 0:
		e.AppliedAt = stamp
	}
	if c.followed() == "" {
		e.Trigger = ""
	}
	return e
}

// dueAt notes when to plan again.
func (p *Plan) dueAt(at time.Time) {
	if p.NextDue.IsZero() || at.Before(p.NextDue) {
		p.NextDue = at
	}
}
