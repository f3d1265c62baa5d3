package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/backoff"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Back-off of repairs. A repair is treated as reverted if its fields are lost again within undoneWithin. undoneWithin
// is longer than the period of a HorizontalPodAutoscaler (15 seconds), the most frequent cause. The first repairs of
// the same fields, up to immediateRepairs, are made without a delay. A person, or a controller that sets defaults while
// it starts, usually stops before this number is reached. After immediateRepairs repairs, the delay doubles with each
// repair.
const (
	immediateRepairs = 5
	undoneWithin     = 30 * time.Second
	minBackoff       = 10 * time.Second
	maxBackoff       = 5 * time.Minute
	// maxLosses is the maximum number of different losses that are stored for one object. If this number is reached,
	// each further loss is counted as a repeated loss.
	maxLosses = 32
)

// Repairs are the consecutive repairs of one dependent that were reverted. The repairs are dropped when they no longer
// affect the next repair.
type Repairs struct {
	// Digest is the digest of the restored manifest. When the manifest changes, the count restarts.
	Digest string
	// Losses are the different losses that were repaired, and Last is the time of the last repair.
	Losses []Loss
	Last   time.Time
	// Undone counts the losses of fields that a repair had restored before. The object itself may be lost in the same
	// way.
	Undone int
	// Difference says how an external differed from its manifest when the conflict began.
	Difference string
	// Deferred is set if fields or the object are lost now, and the repair waits for the back-off.
	Deferred bool
	// ConflictingManagers are the managers of the lost fields. ManagersOf is the loss in which they were found.
	// ManagersRead is set if the managers were read since the last repair.
	ConflictingManagers []ConflictingManager
	ManagersOf          Loss
	ManagersRead        bool
}

// RepairConflict is a dependent whose repairs are reverted repeatedly.
type RepairConflict struct {
	Key  manifests.Key
	Wave int
	// Message names the fields, the managers, and what to do. The message does not change from one repair to the next.
	Message string
}

// Loss identifies the fields that an object lost. If the same fields are lost again, the Loss is the same. A Loss is
// empty if nothing was lost.
type Loss string

// lostObject is the loss of the object itself.
const lostObject Loss = "object"

// lostMatch is the loss of an object that differs from its manifest by its matcher.
const lostMatch Loss = "match"

func lossOf(c candidate) Loss {
	if v := c.live.MatchResult; c.live.Presence == Present && v != nil && v.Differs != "" && !c.changed() {
		return lostMatch
	}
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
		d = c.wait(WaitRepairConflict, describeRepairs(c, r))
	}
	d.repairs = &r
	return d
}

// mustReadManagers reports whether the managers of the lost fields are not known, and a read may show them.
func (r Repairs) mustReadManagers(loss Loss) bool {
	return loss != lostObject && loss != lostMatch && loss != r.ManagersOf && !r.ManagersRead
}

// countLoss returns the repairs with the loss that was just observed. If the last repair was not reverted, the count
// restarts.
func countLoss(c candidate) Repairs {
	r, loss := c.repairs, lossOf(c)
	switch {
	case r.Deferred:
		return r
	case r.Last.IsZero() || !c.now.Before(lastedAt(c, r)):
		r = Repairs{Digest: c.object.Digest, Losses: []Loss{loss}}
	case slices.Contains(r.Losses, loss) || len(r.Losses) >= maxLosses:
		r.Undone++
	default:
		r.Losses = append(slices.Clone(r.Losses), loss)
	}
	if loss == lostMatch && c.object.Key.IsExternal() && (r.Difference == "" || r.Undone <= immediateRepairs) {
		r.Difference = c.live.MatchResult.Differs
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
	return backoff.Backoff{First: minBackoff, Last: maxBackoff}.After(r.Undone - immediateRepairs + 1)
}

// repairDue returns the earliest time of the next repair.
func repairDue(c candidate, r Repairs) time.Time {
	return r.Last.Add(r.backoff() + jitter(c, r))
}

// lastedAt returns the time at which the conflict is over if the last repair has not been reverted by then. The result
// is never before the earliest time of the next repair.
func lastedAt(c candidate, r Repairs) time.Time {
	return r.Last.Add(max(undoneWithin, r.backoff()) + jitter(c, r))
}

// jitter returns less than a tenth of the back-off, so that objects with a conflict at the same time are repaired at
// different times. It is a hash, and no random duration of package backoff: plans of the same facts are equal.
func jitter(c candidate, r Repairs) time.Duration {
	const parts = 1024
	return r.backoff() / 10 / parts * time.Duration(hashOf(fmt.Sprint(c.owner, c.object.Key, r.Last.UnixNano()))%parts)
}

// waitsForRepair reports whether a repair of the object is deferred and not yet due.
func (c candidate) waitsForRepair() bool {
	return c.repairs.Deferred && c.now.Before(repairDue(c, c.repairs))
}

// noteRepairs enters the repairs of an object into the plan, unless the last repair has lasted long enough.
// noteRepairs reports whether the object has a repair conflict.
func (p *Plan) noteRepairs(c candidate, d decision) bool {
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
		Key: c.object.Key, Wave: c.object.Settings.Order, Message: describeRepairs(c, r),
	})
	return true
}

// Remembered returns the repairs of an object after an action with the given result, and whether the action changes the
// repairs. The caller enters changed repairs into Facts.Repairs.
func (a Action) Remembered(r Result) (Repairs, bool) {
	if a.Repairs == nil || r.Failure != nil || r.Verb != a.Verb {
		return Repairs{}, false
	}
	repairs := *a.Repairs
	if a.FindConflictingManagers && r.Observed != nil {
		repairs.ConflictingManagers = r.Observed.conflictingManagers()
	}
	return repairs, true
}
