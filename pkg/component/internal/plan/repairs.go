package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// The pace of repairs. A repair that is undone within lasting counts: that is longer than the period of what fights most often, a
// HorizontalPodAutoscaler, which works every 15 seconds. immediateRepairs of the same fields are made at once, one after the other; what sets
// defaults while it starts, or a person, gives in before that. After that each waits twice as long as the one before.
const (
	immediateRepairs = 5
	undoneWithin     = 30 * time.Second
	minBackoff       = 10 * time.Second
	maxBackoff       = 5 * time.Minute
	// maxLosses bounds what is remembered of one object. Who takes always other fields is not told from who takes the same ones beyond that.
	maxLosses = 32
)

// Repairs is what is remembered of the repairs of one dependent, while it may matter: those in a row that did not last.
type Repairs struct {
	// Digest is that of the manifest that was restored; another manifest starts anew.
	Digest string
	// Losses identify what was lost, each set of fields once, and Last is when it was restored last.
	Losses []Loss
	Last   time.Time
	// Undone counts how often something was lost that had been restored before.
	Undone int
	// Deferred says that it is lost, and that its repair waits.
	Deferred bool
	// ConflictingManagers are those who own what was lost, as was read for the loss ManagersOf. ManagersRead says that they were read since Last.
	ConflictingManagers []ConflictingManager
	ManagersOf          Loss
	ManagersRead        bool
}

// ConflictingManager is a manager that owns a field of a manifest of ours.
type ConflictingManager struct {
	// Field is a path, such as spec.replicas.
	Field string
	// Manager, Operation and Subresource are those of the managed fields. They are empty where the field was removed: then nobody owns it.
	Manager, Operation, Subresource string
	// Mark says that the field is one by which we know our dependents, so that no manifest can leave it out.
	Mark bool
}

// RepairConflict is a dependent whose repairs are undone again and again.
type RepairConflict struct {
	Key  manifests.Key
	Wave int
	// Message says which fields, by whom, and what to do. It stays the same from one repair to the next.
	Message string
}

// Loss identifies what was lost of an object. It is empty where nothing was.
type Loss string

// lostObject is the loss of the object itself.
const lostObject Loss = "object"

// loss identifies what was lost of an object: it is the same whenever the same fields are.
func (c candidate) loss() Loss {
	if c.live.Presence == Absent {
		return lostObject
	}
	return Loss("fields " + c.live.fields(c.policy))
}

// withBackoff lets a repair run at once, unless somebody undoes it again and again: then it is put off, for this object alone.
func (c candidate) withBackoff(d decision) decision {
	if d.action == nil {
		return d
	}
	r := c.countLoss()
	if r.inConflict() && (r.mustReadManagers(c.loss()) || c.now.Before(c.repairDue(r))) {
		return c.deferRepair(r)
	}
	r.Last, r.Deferred, r.ManagersRead = c.now, false, false
	d.action.Repairs = &r
	return d
}

// deferRepair leaves an object as it is until its repair is due. Before, who took the fields is read: once after each repair at the most. That
// the object may be ready all the same counts for its wave.
func (c candidate) deferRepair(r Repairs) decision {
	r.Deferred = true
	if loss := c.loss(); r.mustReadManagers(loss) {
		r.ManagersOf, r.ManagersRead = loss, true
		d := c.act(VerbRead, ReasonRepairConflict)
		d.action.FindConflictingManagers, d.action.Repairs = true, &r
		return d
	}
	var d decision
	if c.live.Presence == Present && c.live.Owner == c.owner {
		d, _ = ruleInSync(c)
	} else {
		d = c.wait(WaitRepairConflict, r.describe())
	}
	d.repairs = &r
	return d
}

// unnamed says that it is not known who took what was lost, and that a read may tell.
func (r Repairs) mustReadManagers(loss Loss) bool {
	return loss != lostObject && loss != r.ManagersOf && !r.ManagersRead
}

// countLoss returns what is to be remembered with the loss that was just seen. One that comes after a repair has lasted is the first.
func (c candidate) countLoss() Repairs {
	r, loss := c.repairs, c.loss()
	switch {
	case r.Deferred:
		return r
	case r.Last.IsZero() || !c.now.Before(c.lastedAt(r)):
		return Repairs{Digest: c.object.Digest, Losses: []Loss{loss}}
	case slices.Contains(r.Losses, loss) || len(r.Losses) >= maxLosses:
		r.Undone++
	default:
		r.Losses = append(slices.Clone(r.Losses), loss)
	}
	return r
}

// contested says that repairs are put off.
func (r Repairs) inConflict() bool { return r.Undone >= immediateRepairs }

// pause is the time between two repairs.
func (r Repairs) backoff() time.Duration {
	if !r.inConflict() {
		return 0
	}
	backoff := minBackoff
	for range r.Undone - immediateRepairs {
		if backoff *= 2; backoff >= maxBackoff {
			return maxBackoff
		}
	}
	return backoff
}

// repairDue is when the next repair may run.
func (c candidate) repairDue(r Repairs) time.Time {
	return r.Last.Add(r.backoff() + c.jitter(r))
}

// lastedAt is when the last repair is taken to have lasted, so that nobody contests the object any more: not before the next would be due.
func (c candidate) lastedAt(r Repairs) time.Time {
	return r.Last.Add(max(undoneWithin, r.backoff()) + c.jitter(r))
}

// jitter is less than a tenth of a pause, so that what is contested together is not repaired together.
func (c candidate) jitter(r Repairs) time.Duration {
	const parts = 1024
	return r.backoff() / 10 / parts * time.Duration(hashOf(fmt.Sprint(c.owner, c.object.Key, r.Last.UnixNano()))%parts)
}

// waitsForRepair says that a repair was put off, and is not due yet.
func (c candidate) waitsForRepair() bool {
	return c.repairs.Deferred && c.now.Before(c.repairDue(c.repairs))
}

// remember keeps what is known of the repairs of an object while it matters, and says whether the object is contested.
func (p *Plan) recordRepairs(c candidate, d decision) bool {
	r := c.repairs
	if d.repairs != nil {
		r = *d.repairs
	}
	inSync := d.repairs == nil && d.action == nil && (d.waiting == nil || d.applied)
	if r.Last.IsZero() || inSync && !c.now.Before(c.lastedAt(r)) {
		return false
	}
	p.Repairs[c.object.Key] = r
	if !r.inConflict() {
		return false
	}
	at := c.repairDue(r)
	if inSync {
		at = c.lastedAt(r)
	}
	if at.After(c.now) {
		p.planAgainAt(at)
	}
	p.RepairConflicts = append(p.RepairConflicts, RepairConflict{Key: c.object.Key, Wave: c.object.Settings.Order, Message: r.describe()})
	return true
}

// Remembered returns what is to be remembered of the repairs of an object once an action on it was answered.
func (a Action) Remembered(r Result) (Repairs, bool) {
	if a.Repairs == nil || r.Failure != nil || r.Verb != a.Verb {
		return Repairs{}, false
	}
	kept := *a.Repairs
	if a.FindConflictingManagers && r.Observed != nil {
		kept.ConflictingManagers = r.Observed.ConflictingManagers
	}
	return kept, true
}
