package plan

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// rulePurged prevents writes to an object that was purged according to its entry, because a create would run its work
// again. The rule applies until the reconcile policy requires that the object is applied again.
func rulePurged(c candidate) (decision, bool) {
	return decision{}, isPurged(c.object) && c.entry.Completed && !c.renewed()
}

// rulePurgeFailed deletes an object that has failed, or whose timeout ended before it was ready, if its manifest
// requires that. The failure is written to the inventory before the deletion, because a missing object without a
// failure in its entry is created again.
func rulePurgeFailed(c candidate) (decision, bool) {
	if !c.object.Settings.PurgeFailed || c.holdsOthers() {
		return decision{}, false
	}
	message := cmp.Or(c.live.Readiness.Message, "it failed")
	switch {
	case c.live.Readiness.State == ready.Failed:
	case isTimedOut(c):
		message = timeoutMessage(c)
	default:
		return decision{}, false
	}
	d := c.act(VerbDelete, ReasonPurgedFailed)
	d.repair = false
	e := c.entry
	e.Failed = truncate(message)
	if c.inDeletion() {
		e.Trigger = c.trigger
	}
	d.entry = &e
	return d, true
}

// rulePurgedFailed reports the recorded failure of an object, and deletes the object if it still exists. The rule
// applies until the reconcile policy requires that the object is applied again. In a deletion, it applies until a pass
// is requested, see retryFailed.
func rulePurgedFailed(c candidate) (decision, bool) {
	ours := c.live.Presence == Present && c.live.Owner == c.owner && c.live.UID == c.entry.UID
	switch {
	case c.entry.Failed == "" || c.renewed():
		return decision{}, false
	case ours && !c.live.Terminating:
		d := c.act(VerbDelete, ReasonPurgedFailed)
		d.repair = false
		return d, true
	}
	retry := "when its content changes"
	if c.inDeletion() {
		retry = "when a pass is requested"
	}
	d := c.fail(Failure{
		Class: Terminal, Reason: WaitDependentFailed, Cause: CausePurged,
		Message: c.entry.Failed + "; it was deleted, as its manifest says; it is created again " + retry,
	})
	d.applied = true
	return d, true
}

// maxFailure is the maximum length of a recorded message, in bytes.
const maxFailure = 256

func truncate(message string) string {
	if len(message) <= maxFailure {
		return message
	}
	return Head(message, maxFailure) + "..."
}

// isPurged reports whether an object is deleted at the end of a wave. Definitions and namespaces are never purged,
// because their deletion deletes other objects. A purge order in such a manifest is refused when the manifest is read.
func isPurged(o *manifests.Object) bool {
	return o.Settings.PurgeOrder != nil && len(o.Types) == 0 && !IsNamespace(o.Key)
}

// purgesOf returns the objects that are purged, in the order of their purge waves.
func purgesOf(desired []manifests.Object) []*manifests.Object {
	var found []*manifests.Object
	for i := range desired {
		if isPurged(&desired[i]) && desired[i].Held == nil {
			found = append(found, &desired[i])
		}
	}
	slices.SortStableFunc(found, func(a, b *manifests.Object) int {
		return cmp.Compare(*a.Settings.PurgeOrder, *b.Settings.PurgeOrder)
	})
	return found
}

// purge deletes the objects whose purge order is at most wave. The caller makes sure that all waves up to this wave are
// ready. Objects are deleted in ascending purge order: objects with the next purge order are deleted when no earlier
// object exists any more. done is set if the purge needs no action and no wait.
func (p *Plan) purge(f Facts, purges []*manifests.Object, wave int) (done bool) {
	for start := 0; start < len(purges) && *purges[start].Settings.PurgeOrder <= wave; {
		end := start + 1
		for end < len(purges) && *purges[end].Settings.PurgeOrder == *purges[start].Settings.PurgeOrder {
			end++
		}
		if !p.purgeWave(f, purges[start:end]) {
			return false
		}
		start = end
	}
	return true
}

// purgeWave deletes the objects of one purge order. Before an object is deleted, its entry says that it completed, so
// that it does not run again after a crash. When the object is confirmed not to exist, or not to be ours, the UID is
// removed from its entry, and later plans skip the object.
func (p *Plan) purgeWave(f Facts, purges []*manifests.Object) (done bool) {
	var actions []Action
	done = true
	for _, o := range purges {
		e := p.Inventory[o.Key]
		if e.Completed && e.UID == "" || p.occurrences.current(f, o.Key, e) != o.Occurrence {
			continue
		}
		r := newRemoval(f, e, ReasonPurged)
		r.wave, r.attempts = *o.Settings.PurgeOrder, maxAttempts*p.occurrences.several(o.Key)
		d := decide(deleteRules, r)
		done = done && d.action == nil && (d.waiting == nil || r.countsAsDeleted(d))
		switch {
		case d.action != nil:
			actions = append(actions, *d.action)
			recorded := f.Recorded[o.Key]
			p.WriteInventory = p.WriteInventory || !e.Completed || !recorded.Completed || recorded.Digest != e.Digest
		case d.waiting != nil:
			p.Waiting = append(p.Waiting, *d.waiting)
			continue
		default:
			e.UID = ""
		}
		e.Completed = true
		p.Inventory[o.Key] = e
	}
	p.begin(actions)
	return done
}

// resetCompleted clears the field Completed in the entries of objects that the plan creates again. The change must be
// written before the create, because the object may exist after the create even if the process crashes.
func (p *Plan) resetCompleted(f Facts) {
	for _, a := range p.Actions {
		if e := p.Inventory[a.Key]; a.Verb == VerbCreate && e.Completed {
			e.Completed, e.Digest, e.Occurrence = false, "", 0
			if p.occurrences.several(a.Key) > 1 {
				// The entry has no digest now, so the revision identifies the run that the occurrence belongs to.
				e.Occurrence, e.Revision = a.Object.Occurrence+1, f.Revision
			}
			p.Inventory[a.Key] = e
			p.WriteInventory = true
		}
	}
}
