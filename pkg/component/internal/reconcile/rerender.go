package reconcile

import (
	"slices"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/backoff"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// Back-off of renderings that change their own inputs: exports that the rendering asked for, and inputs that are among
// the dependents. Such renderings would otherwise be made again without end. The first renewals of the same other
// inputs are made at once; then the delay doubles with each renewal. A value that an export gets for the first time is
// not counted.
const (
	immediateRenewals = 5
	minRenewalDelay   = 10 * time.Second
	maxRenewalDelay   = 5 * time.Minute
	// maxEnds is the maximum number of successive passes that end for exports. An export can depend on an export that is
	// known only after another rendering. The next pass applies its rendering as it is, and reports.
	maxEnds = 8
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
	// values are those of the last counted renewal for exports.
	values []metav1alpha1.AskedExport
}

// due returns the time at which the inputs may be rendered again. After a quiet time the count begins again.
func (r *renewals) due(trigger string, now time.Time) time.Time {
	if r.trigger != trigger || now.Sub(r.last) > 2*maxRenewalDelay {
		*r = renewals{trigger: trigger}
	}
	if r.count < immediateRenewals {
		return r.last
	}
	delays := backoff.Backoff{First: minRenewalDelay, Last: maxRenewalDelay}
	return r.last.Add(delays.After(r.count - immediateRenewals + 1))
}

// add counts a renewal if a known value changed. The same renewal is not counted again: after a rendering that failed,
// the next one begins with the recorded values once more.
func (r *renewals) add(known, renewed []metav1alpha1.AskedExport, now time.Time) {
	values := map[string]string{}
	for _, e := range known {
		values[e.Name] = e.Value
	}
	for _, e := range renewed {
		if previous := values[e.Name]; previous != "" && previous != e.Value && !slices.Equal(renewed, r.values) {
			r.count, r.last, r.values = r.count+1, now, renewed
			return
		}
	}
}

// holdUntil returns the time of the next rendering if a set must be applied although it has outdated values. It is zero
// otherwise. trigger identifies the inputs that do not change with the rendering, and the last request for a pass. ends
// is the number of successive passes that ended for exports.
func (r *renewals) holdUntil(set rendering.Set, trigger string, ends int, now time.Time) time.Time {
	if len(set.Asked()) == 0 {
		return time.Time{}
	}
	if due := r.due(trigger, now); now.Before(due) {
		return due
	}
	if ends >= maxEnds {
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
