package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Back-off of repairs. A repair counts as reverted if its fields are lost again within undoneWithin, which is longer
// than the period of the most frequent cause, a HorizontalPodAutoscaler (15 seconds). The first immediateRepairs of the
// same fields are made without a delay: a controller that sets defaults while it starts, or a person, stops before
// that. After that the delay doubles with each repair.
const (
	immediateRepairs = 5
	undoneWithin     = 30 * time.Second
	minBackoff       = 10 * time.Second
	maxBackoff       = 5 * time.Minute
	// maxLosses bounds the losses that are kept of one object. Beyond that number each new set of fields counts as a
	// repeated loss.
	maxLosses = 32
)

// Repairs are the consecutive repairs of one dependent that were reverted. They are kept while they matter for the next
// repair.
type Repairs struct {
	// Digest is the digest of the restored manifest. With another manifest, counting starts over.
	Digest string
	// Losses are the different losses that were repaired, and Last is the time of the last repair.
	Losses []Loss
	Last   time.Time
	// Undone counts the losses of fields, or of the object, that had been restored before.
	Undone int
	// Deferred is set if fields or the object are lost now, and the repair waits for the back-off.
	Deferred bool
	// ConflictingManagers are the managers of the fields that were lost in the loss ManagersOf. ManagersRead is set if a
	// read has looked for these managers since the last repair.
	ConflictingManagers []ConflictingManager
	ManagersOf          Loss
	ManagersRead        bool
}

// RepairConflict is a dependent whose repairs are reverted repeatedly.
type RepairConflict struct {
	Key  manifests.Key
	Wave int
	// Message names the fields, the managers, and what to do. It stays the same from one repair to the next.
	Message string
}

// Loss identifies what an object lost. The same fields have the same Loss; it is empty if nothing was lost.
type Loss string

// lostObject is the loss of the object itself.
const lostObject Loss = "object"

func lossOf(c candidate) Loss {
	if c.live.Presence == Absent {
		return lostObject
	}
	return Loss("fields " + c.live.fields(c.policy))
}

// withBackoff returns the repair d, or defers it while the back-off of this object lasts.
func withBackoff(c candidate, d decision) decision {
	if d.action == nil {
		return d
	}
	r := countLoss(c)
	if r.inConflict() && (r.mustReadManagers(lossOf(c)) || c.now.Before(repairDue(c, r))) {
		return deferRepair(c, r)
	}
	r.Last, r.Deferred, r.ManagersRead = c.now, false, false
	d.action.Repairs = &r
	return d
}

// deferRepair leaves an object unchanged until its repair is due. Once after each repair, the managers of the lost
// fields are read first. If the object is ready despite the loss, it does not hold up its wave.
func deferRepair(c candidate, r Repairs) decision {
	r.Deferred = true
	if loss := lossOf(c); r.mustReadManagers(loss) {
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

// mustReadManagers reports whether the managers of the lost fields are unknown, and a read may find them.
func (r Repairs) mustReadManagers(loss Loss) bool {
	return loss != lostObject && loss != r.ManagersOf && !r.ManagersRead
}

// countLoss returns the repairs with the loss that was just observed. If the last repair lasted, counting starts over.
func countLoss(c candidate) Repairs {
	r, loss := c.repairs, lossOf(c)
	switch {
	case r.Deferred:
		return r
	case r.Last.IsZero() || !c.now.Before(lastedAt(c, r)):
		return Repairs{Digest: c.object.Digest, Losses: []Loss{loss}}
	case slices.Contains(r.Losses, loss) || len(r.Losses) >= maxLosses:
		r.Undone++
	default:
		r.Losses = append(slices.Clone(r.Losses), loss)
	}
	return r
}

// inConflict reports whether repairs are delayed.
func (r Repairs) inConflict() bool { return r.Undone >= immediateRepairs }

// backoff returns the delay between two repairs.
func (r Repairs) backoff() time.Duration {
	if !r.inConflict() {
		return 0
	}
	delay := minBackoff
	for range r.Undone - immediateRepairs {
		if delay *= 2; delay >= maxBackoff {
			return maxBackoff
		}
	}
	return delay
}

// repairDue returns the time from which the next repair may run.
func repairDue(c candidate, r Repairs) time.Time {
	return r.Last.Add(r.backoff() + jitter(c, r))
}

// lastedAt returns the time from which the last repair counts as lasting, so that the conflict is over. It is not
// before the next repair would be due.
func lastedAt(c candidate, r Repairs) time.Time {
	return r.Last.Add(max(undoneWithin, r.backoff()) + jitter(c, r))
}

// jitter returns less than a tenth of the back-off, so that objects with a conflict at the same time are repaired at
// different times.
func jitter(c candidate, r Repairs) time.Duration {
	const parts = 1024
	return r.backoff() / 10 / parts * time.Duration(hashOf(fmt.Sprint(c.owner, c.object.Key, r.Last.UnixNano()))%parts)
}

// waitsForRepair reports whether a repair of the object is deferred and not yet due.
func (c candidate) waitsForRepair() bool {
	return c.repairs.Deferred && c.now.Before(repairDue(c, c.repairs))
}

// recordRepairs keeps the repairs of an object in the plan, unless the last repair has lasted, and reports whether the
// object has a repair conflict.
func (p *Plan) recordRepairs(c candidate, d decision) bool {
	r := c.repairs
	if d.repairs != nil {
		r = *d.repairs
	}
	inSync := d.repairs == nil && d.action == nil && (d.waiting == nil || d.applied)
	if r.Last.IsZero() || inSync && !c.now.Before(lastedAt(c, r)) {
		return false
	}
	p.Repairs[c.object.Key] = r
	if !r.inConflict() {
		return false
	}
	at := repairDue(c, r)
	if inSync {
		at = lastedAt(c, r)
	}
	if at.After(c.now) {
		p.planAgainAt(at)
	}
	p.RepairConflicts = append(p.RepairConflicts, RepairConflict{
		Key: c.object.Key, Wave: c.object.Settings.Order, Message: r.describe(),
	})
	return true
}

// Remembered returns the repairs of an object after the result of an action on it, and whether the action changes them.
// The caller enters them into Facts.Repairs.
func (a Action) Remembered(r Result) (Repairs, bool) {
	if a.Repairs == nil || r.Failure != nil || r.Verb != a.Verb {
		return Repairs{}, false
	}
	repairs := *a.Repairs
	if a.FindConflictingManagers && r.Observed != nil {
		repairs.ConflictingManagers = r.Observed.ConflictingManagers
	}
	return repairs, true
}
