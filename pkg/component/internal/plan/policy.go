package plan

import (
	"cmp"
	"hash/fnv"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ruleOnce leaves an object whose reconcile policy is once unchanged after it was applied, even if another client
// changes or deletes the object. The object is still pruned, purged and deleted. If a crash prevented the record of the
// apply, the owner label of the live object shows that the object was applied.
func ruleOnce(c candidate) (decision, bool) {
	recorded := c.entry.UID != "" || c.entry.Completed
	ours := c.live.Presence == Present && c.live.Owner == c.owner
	if c.object.Occurrence > 0 {
		// The UID, and the owner, may be those of the occurrence before.
		recorded, ours = c.entry.Digest != "", ours && c.live.Digest == c.object.Digest
	}
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

// ruleTriggered applies an object after the component changed, if the object's reconcile policy follows the component.
// The write is recorded even if it changed nothing, so it is not repeated.
func ruleTriggered(c candidate) (decision, bool) {
	if !c.triggered() || c.renderedAgain() {
		return decision{}, false
	}
	return applyAgain(c, ReasonTriggered), true
}

// ruleReapply applies an object at the end of its reapply interval.
func ruleReapply(c candidate) (decision, bool) {
	due := reapplyDue(c, c.entry)
	if due.IsZero() || c.now.Before(due) || c.renderedAgain() {
		return decision{}, false
	}
	d := applyAgain(c, ReasonReapply)
	d.repair = d.action != nil
	return d, true
}

// applyAgain plans another apply of an object that is in sync. If this pass has already made that apply, applyAgain
// returns a decision that records the apply instead.
func applyAgain(c candidate, reason Reason) decision {
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
	e.Trigger, e.AppliedAt = c.followedTrigger(), appliedAt(c)
	d.entry = &e
	return d
}

// followedTrigger returns the state of the component that is recorded with a write; empty if the object does not follow
// the component.
func (c candidate) followedTrigger() string {
	if c.reconcile != metav1alpha1.ReconcileOnObjectOrComponentChange {
		return ""
	}
	return c.trigger
}

// triggered reports whether the object follows the component, and the component changed since the object was applied.
func (c candidate) triggered() bool {
	return c.followedTrigger() != "" && c.followedTrigger() != c.entry.Trigger
}

// renewed reports whether an applied object would be applied again by its reconcile policy.
func (c candidate) renewed() bool {
	switch {
	case c.entry.Digest == "", c.reconcile == metav1alpha1.ReconcileOnce:
		return false
	case !c.sameInputs && !manifests.SameContent(c.entry.Digest, c.object.Digest):
		return true
	}
	return c.triggered()
}

// reasonOfRenewal returns the reason to create an object again that completed its work.
func reasonOfRenewal(c candidate) Reason {
	if manifests.SameContent(c.entry.Digest, c.object.Digest) && c.triggered() {
		return ReasonTriggered
	}
	return ReasonChanged
}

// appliedAt returns the time that is recorded with a write, in seconds since 1970; zero if the object has neither a
// reapply interval nor a timeout. It is rounded up, so that the object is never due at once.
func appliedAt(c candidate) int64 {
	if (c.reapply <= 0 || c.reconcile == metav1alpha1.ReconcileOnce) && c.object.Settings.Timeout <= 0 {
		return 0
	}
	return c.now.Add(time.Second - 1).Unix()
}

// inSyncEntry returns the entry e, of an object in sync, with the current revision and settings. The object need not be
// written for that.
func inSyncEntry(c candidate, e metav1alpha1.InventoryEntry) metav1alpha1.InventoryEntry {
	if e.Revision != c.revision {
		e.Occurrence = c.recordedNumber()
	}
	e.Revision, e.Rendition = c.revision, c.rendition
	e.Order, e.DeleteOrder = c.object.Settings.Order, c.object.Settings.DeleteOrder
	switch at := appliedAt(c); {
	case at == 0:
		e.AppliedAt = 0
	case e.AppliedAt == 0:
		e.AppliedAt = at
	}
	if c.followedTrigger() == "" {
		e.Trigger = ""
	}
	return e
}

// scheduleReapply plans again when the object is to be applied again.
func (p *Plan) scheduleReapply(c candidate, e metav1alpha1.InventoryEntry) {
	at := reapplyDue(c, e)
	if !at.After(c.now) || c.reconcile == metav1alpha1.ReconcileOnce || e.Completed {
		return
	}
	p.planAgainAt(at)
}

// timeoutDue returns the time at which an object counts as failed that is not ready. Zero means never.
func timeoutDue(c candidate, e metav1alpha1.InventoryEntry) time.Time {
	if c.object.Settings.Timeout <= 0 || e.AppliedAt == 0 {
		return time.Time{}
	}
	return time.Unix(e.AppliedAt, 0).Add(c.object.Settings.Timeout)
}

// scheduleTimeout plans again when an object that is applied and waited for counts as failed.
func (p *Plan) scheduleTimeout(c candidate, d decision) {
	due := timeoutDue(c, p.Inventory[c.object.Key])
	if d.waiting != nil && d.applied && due.After(c.now) {
		p.planAgainAt(due)
	}
}

// reapplyDue returns the time at which an object is to be applied again: the end of its interval plus a spread. An
// interval that ended before the process started counts as ended at the start, so that an operator does not apply all
// objects at once after a long downtime. Zero means never.
func reapplyDue(c candidate, e metav1alpha1.InventoryEntry) time.Time {
	if c.reapply <= 0 || e.AppliedAt == 0 {
		return time.Time{}
	}
	due := time.Unix(e.AppliedAt, 0).Add(c.reapply)
	if due.Before(c.started) {
		due = c.started
	}
	return due.Add(spread(c.owner, c.object.Key, c.reapply))
}

// spreadGroups is the number of groups in which the dependents of a component are applied again. Each group costs a
// pass and a write of the status, so there are only a few groups.
const spreadGroups = 8

// spread returns the delay after the interval at which an object is applied again: less than a tenth of the interval.
// The key selects the group, and the owner the moment within the share of the group. So different components are
// applied at different times, and one component needs only a few passes.
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
