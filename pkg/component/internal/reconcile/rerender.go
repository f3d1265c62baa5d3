package reconcile

import (
	"cmp"
	"slices"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// Back-off of renderings that change their own inputs: exports that the rendering asked for, and inputs that are among
// the dependents. Such renderings would otherwise be made again without end. The first renewals of the same other inputs
// are made at once; then the delay doubles with each renewal. A value that an export gets for the first time is not
// counted.
const (
	immediateRenewals = 5
	minRenewalDelay   = 10 * time.Second
	maxRenewalDelay   = 5 * time.Minute
	// maxRounds is the maximum number of renderings in a pass. An export can depend on an export that is known only after
	// another rendering.
	maxRounds = 8
)

// renewals are the renderings that were made again because a known value of an export changed, or an input that the
// component writes, while all other inputs stayed the same.
type renewals struct {
	// trigger identifies the other inputs, and the last request for a pass. counted is the digest of the last inputs that
	// were counted.
	trigger string
	counted string
	count   int
	last    time.Time
	// pending are exports with values that a pass found and did not record, because it waits for a watch or failed.
	pending []metav1alpha1.AskedExport
}

// due returns the time at which the inputs may be rendered again. After a quiet time the count begins again.
func (r *renewals) due(trigger string, now time.Time) time.Time {
	if r.trigger != trigger || now.Sub(r.last) > 2*maxRenewalDelay {
		*r = renewals{trigger: trigger, pending: r.pending}
	}
	if r.count < immediateRenewals {
		return r.last
	}
	delay := min(maxRenewalDelay, minRenewalDelay<<min(r.count-immediateRenewals, 10))
	return r.last.Add(delay)
}

// end is called at the end of a pass. A pass that succeeded has recorded all values in the status.
func (r *renewals) end(o outcome.Outcome, err error) {
	if err == nil && !o.Observing {
		r.pending = nil
	}
}

// add stores the values for another rendering. It counts a renewal if a known value changed.
func (r *renewals) add(known, renewed []metav1alpha1.AskedExport, now time.Time) {
	r.pending = renewed
	values := map[string]string{}
	for _, e := range known {
		values[e.Name] = e.Value
	}
	for _, e := range renewed {
		if former := values[e.Name]; former != "" && former != e.Value {
			r.count, r.last = r.count+1, now
			return
		}
	}
}

// round is the state of a pass between its renderings.
type round struct {
	work
	number int
	// set is the rendering of this round.
	set rendering.Set
	// exports are the known values of exports. lost is set if the status with the values was lost.
	exports []metav1alpha1.AskedExport
	lost    bool
	// trigger identifies the inputs that the component does not write itself, if it writes others; see feedback.
	trigger string
	// changes are the writes of the earlier rounds, and renewed is the result of the last round.
	changes []result.Change
	renewed outcome.Renewed
}

// firstRound returns the state of a pass before its first rendering.
func firstRound(c *Component, w work, f feedback) round {
	if pending := c.Memory.renewals.pending; pending != nil {
		return round{work: w, trigger: f.trigger, exports: pending}
	}
	return round{
		work: w, trigger: f.trigger, exports: lookup.RecordedExports(c.GetStatus()),
		lost: c.GetStatus().Revision == 0 && len(w.recorded.Entries) > 0,
	}
}

// next returns the state for another rendering, with the values that the outcome of this round has.
func (r round) next(o outcome.Outcome) round {
	r.number++
	r.recorded.Entries, r.changes, r.renewed = o.Inventory, append(r.changes, o.Changes...), *o.Renewed
	r.exports, r.lost = o.Renewed.Exports, false
	return r
}

// holdUntil returns the time of the next rendering if the rendering of this round must be used although it has outdated
// values. It is zero otherwise. nonce identifies the inputs, and the last request for a pass.
func (r round) holdUntil(known *renewals, nonce string, now time.Time) time.Time {
	if len(r.set.Asked()) == 0 {
		return time.Time{}
	}
	if due := known.due(cmp.Or(r.trigger, nonce), now); now.Before(due) {
		return due
	}
	if r.number >= maxRounds {
		return now
	}
	return time.Time{}
}

// renew returns the time at which changed inputs may be rendered, and zero if they may be rendered now. Inputs that may
// be rendered are counted once, unless the other inputs changed, too.
func (r *renewals) renew(trigger, digest string, now time.Time) (due time.Time) {
	isFirst := r.trigger != trigger
	due = r.due(trigger, now)
	switch {
	case isFirst:
		r.counted = digest
	case r.counted == digest:
	case now.Before(due):
		return due
	default:
		r.count, r.last, r.counted = r.count+1, now, digest
	}
	return time.Time{}
}

// dueBy returns an outcome whose next pass begins at the given time, if a rendering was held until then.
func dueBy(o outcome.Outcome, due time.Time) outcome.Outcome {
	held := slices.ContainsFunc(o.Waiting, func(w result.Waiting) bool { return w.Open })
	if held && !due.IsZero() && (o.NextDue.IsZero() || due.Before(o.NextDue)) {
		o.NextDue = due
	}
	return o
}
