package plan

import (
	"cmp"
	"hash/fnv"
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
	return c.applyAgain(ReasonTriggered), true
}

// again applies in place what looks in sync, and records it once that is done.
func (c candidate) applyAgain(reason Reason) decision {
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
func (c candidate) appliesAgain() bool {
	switch {
	case c.entry.Digest == "", c.reconcile == metav1alpha1.ReconcileOnce:
		return false
	case !c.sameInputs && !manifests.SameContent(c.entry.Digest, c.object.Digest):
		return true
	}
	return c.triggered()
}

// reasonToApplyAgain is the reason why what did its work is created again.
func (c candidate) reasonToApplyAgain() Reason {
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

// inSyncEntry returns the record of an object that is applied, with the settings that count from now on: a change of those need not be written
// to the object.
func (c candidate) inSyncEntry(e metav1alpha1.InventoryEntry) metav1alpha1.InventoryEntry {
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

// planAgainAt notes when to plan again.
func (p *Plan) planAgainAt(at time.Time) {
	if p.NextDue.IsZero() || at.Before(p.NextDue) {
		p.NextDue = at
	}
}

// ruleReapply applies what is due.
func ruleReapply(c candidate) (decision, bool) {
	due := c.reapplyDue(c.entry)
	if due.IsZero() || c.now.Before(due) || c.renderedAgain() {
		return decision{}, false
	}
	d := c.applyAgain(ReasonReapply)
	d.repair = d.action != nil
	return d, true
}

// due notes when an object is to be applied again.
func (p *Plan) scheduleReapply(c candidate, e metav1alpha1.InventoryEntry) {
	at := c.reapplyDue(e)
	if !at.After(c.now) || c.reconcile == metav1alpha1.ReconcileOnce || e.Completed {
		return
	}
	p.planAgainAt(at)
}

// reapplyDue is when an object is to be applied again: at the end of its interval, and a spread later. What was due before anybody looked is not
// due at once, but only after the spread: an operator that did not run for long would apply everything in one second. Zero means never.
func (c candidate) reapplyDue(e metav1alpha1.InventoryEntry) time.Time {
	if c.reapply <= 0 || e.AppliedAt == 0 {
		return time.Time{}
	}
	due := time.Unix(e.AppliedAt, 0).Add(c.reapply)
	if due.Before(c.started) {
		due = c.started
	}
	return due.Add(spread(c.owner, c.object.Key, c.reapply))
}

// spreadGroups is how many groups a component's dependents are applied again in, each in a pass of its own, with a write of the status.
const spreadGroups = 8

// spread is by how much later than its interval an object is applied again: by less than a tenth. The key chooses the group, and the owner the
// time in the group's share: so components are applied at different times, and each in few passes.
func spread(owner string, key manifests.Key, interval time.Duration) time.Duration {
	const parts = 1024
	share := interval / 10 / spreadGroups
	return share*time.Duration(hashOf(key.String())%spreadGroups) + share/parts*time.Duration(hashOf(owner)%parts)
}

func hashOf(text string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return h.Sum32()
}
