package plan

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ruleOnce leaves an object whose reconcile policy is once unchanged after it was applied, even if another client
// changes or deletes the object. The object can still be pruned, purged and deleted. If a crash prevented the record of
// the apply, the owner label of the live object shows that the object was applied.
func ruleOnce(c candidate) (decision, bool) {
	recorded := c.entry.UID != "" || c.entry.Completed
	ours := c.live.Presence == Present && c.live.Owner == c.owner
	if c.object.Occurrence > 0 {
		// The recorded UID and the owner label may come from the previous occurrence.
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

// ruleCreateOnly leaves an object of the component unchanged while it exists, if its reconcile policy is create-only.
func ruleCreateOnly(c candidate) (decision, bool) {
	exists := c.live.Presence == Present && !c.live.Terminating
	ours := c.live.Owner == c.owner || c.live.Owner == "" && c.entry.UID != "" && c.live.UID == c.entry.UID
	if c.reconcile != metav1alpha1.ReconcileCreateOnly || !exists || !ours {
		return decision{}, false
	}
	d, _ := ruleInSync(c)
	if d.entry == nil && (c.entry.UID != c.live.UID || c.entry.Digest != c.live.Digest) {
		d.entry = new(entryAfterWrite(c))
	}
	return d, true
}

// ruleUpdateOnly makes the component wait for an object that does not exist, if its reconcile policy is update-only.
// The watches on dependents do not show an object that another client created, because it has no owner label, so the
// absence is confirmed by a read.
func ruleUpdateOnly(c candidate) (decision, bool) {
	switch {
	case c.reconcile != metav1alpha1.ReconcileUpdateOnly || c.live.Presence != Absent:
		return decision{}, false
	case !c.live.Confirmed:
		d := c.act(VerbRead, ReasonConfirm)
		d.repair = false
		return d, true
	}
	return c.wait(WaitAbsent, "it does not exist, and its reconcile policy update-only does not create it"), true
}

// ruleTriggered applies an object again after the component changed, if its reconcile policy is
// on-object-or-component-change. The write is entered into the inventory even if it changed nothing, so that it is not
// repeated.
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

// ruleAlways applies an object once in each pass, if its reconcile policy is always. The first action of the pass on
// the object may be a read, if its type is not watched.
func ruleAlways(c candidate) (decision, bool) {
	if c.reconcile != metav1alpha1.ReconcileAlways || c.renderedAgain() || c.written() || c.result.Attempts > 1 {
		return decision{}, false
	}
	return applyAgain(c, ReasonAlways), true
}

// updates reports whether the reconcile policy permits that an existing object is updated after it was applied.
func (c candidate) updates() bool {
	return c.reconcile != metav1alpha1.ReconcileOnce && c.reconcile != metav1alpha1.ReconcileCreateOnly
}

// applyAgain plans another apply of an object that is in sync. If this pass has already applied the object, applyAgain
// returns a decision that enters the apply into the inventory.
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

// followedTrigger returns the trigger to enter with a write, which identifies the state of the component. The trigger
// is empty if the reconcile policy of the object is not on-object-or-component-change.
func (c candidate) followedTrigger() string {
	if c.reconcile != metav1alpha1.ReconcileOnObjectOrComponentChange {
		return ""
	}
	return c.trigger
}

// triggered reports whether the component changed since the object was applied, and the object's reconcile policy is
// on-object-or-component-change.
func (c candidate) triggered() bool {
	return c.followedTrigger() != "" && c.followedTrigger() != c.entry.Trigger
}

// renewed reports whether the reconcile policy requires that an applied object is applied again.
func (c candidate) renewed() bool {
	switch {
	case c.entry.Digest == "", c.reconcile == metav1alpha1.ReconcileOnce:
		return false
	case !c.sameInputs && !digests.SameContent(c.entry.Digest, c.object.Digest):
		return true
	}
	return c.triggered()
}

// reasonOfRenewal returns the reason for which an object that completed its work is created again.
func reasonOfRenewal(c candidate) Reason {
	if digests.SameContent(c.entry.Digest, c.object.Digest) && c.triggered() {
		return ReasonTriggered
	}
	return ReasonChanged
}

// appliedAt returns the time to enter with a write, in seconds since 1970. appliedAt returns zero if the object has
// neither a reapply interval nor a timeout. The time is rounded up, so that a short interval or timeout does not end
// immediately.
func appliedAt(c candidate) int64 {
	if (c.reapply <= 0 || !c.updates()) && c.object.Settings.Timeout <= 0 {
		return 0
	}
	return c.now.Add(time.Second - 1).Unix()
}

// inSyncEntry returns the entry e of an object in sync, updated to the current revision and settings. The update of the
// entry needs no write of the object.
func inSyncEntry(c candidate, e metav1alpha1.InventoryEntry) metav1alpha1.InventoryEntry {
	if e.Revision != c.revision {
		e.Occurrence = c.recordedNumber()
	}
	if !c.accepted() {
		e.Revision, e.Rendition = c.revision, c.rendition
	}
	e.Order, e.DeleteOrder = c.object.Settings.Order, c.object.Settings.DeleteOrder
	e.DependsOn, e.HeldSince = c.object.DependsOn(), ""
	switch at := appliedAt(c); {
	case at == 0:
		e.AppliedAt = 0
	case e.AppliedAt == 0:
		e.AppliedAt = at
	}
	if c.followedTrigger() == "" && e.Failed == "" {
		e.Trigger = ""
	}
	return e
}

// scheduleReapply schedules the next plan for the time at which the object is to be applied again.
func (p *Plan) scheduleReapply(c candidate, e metav1alpha1.InventoryEntry) {
	at := reapplyDue(c, e)
	if !at.After(c.now) || !c.updates() || e.Completed {
		return
	}
	p.planAgainAt(at)
}

// timeoutDue returns the time at which the timeout of an object ends. An object that is not ready then has failed. The
// time is zero if the object has no timeout.
func timeoutDue(c candidate, e metav1alpha1.InventoryEntry) time.Time {
	if c.object.Settings.Timeout <= 0 || e.AppliedAt == 0 {
		return time.Time{}
	}
	return time.Unix(e.AppliedAt, 0).Add(c.object.Settings.Timeout)
}

// isTimedOut reports whether the timeout of an object ended before the object was ready.
func isTimedOut(c candidate) bool {
	due := timeoutDue(c, c.entry)
	known := c.live.Readiness.State != ready.Unread
	return known && c.live.Readiness.State != ready.Ready && !due.IsZero() && !c.now.Before(due) && !c.written()
}

func timeoutMessage(c candidate) string {
	return fmt.Sprintf("not ready within %s: %s", c.object.Settings.Timeout, c.live.Readiness.Message)
}

// scheduleTimeout schedules the next plan for the end of the timeout of an object that is applied but not ready.
func (p *Plan) scheduleTimeout(c candidate, d decision) {
	due := timeoutDue(c, p.Inventory[c.object.Key])
	if d.waiting != nil && d.applied && due.After(c.now) {
		p.planAgainAt(due)
	}
}

// reapplyDue returns the time at which an object is to be applied again: the end of its reapply interval, plus a
// spread. If the interval ended before the process started, the start of the process replaces its end, so that an
// operator does not apply all objects at once after a long downtime. The time is zero if the object is never applied
// again.
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

// spread returns the delay between the end of the reapply interval and the next apply of an object. The delay is less
// than a tenth of the interval. The key of the object selects one of the groups, and the owner selects the moment
// within the time of the group. So different components are applied at different times, and each component needs only a
// few passes.
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
