package reconcile

import (
	"fmt"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
)

// A component whose inputs change all the time, while its own spec stays the same, is probably the cause itself, by
// objects that are not its dependents: two components can read what the other one writes, or a controller can answer to
// a dependent with a change of an input. So the number of such revisions is bounded. Values of event sources are not
// counted: they may change often, and Options.Intervals.Min bounds the passes that they start.
const (
	maxBurst        = 60
	minBurstWindow  = time.Minute
	maxBurstWindow  = 5 * time.Minute
	burstWindowGrow = 2
)

// bursts are the revisions of a component in the current window that changed inputs caused.
type bursts struct {
	// trigger identifies the spec, and the last request for a pass. digest is that of the last inputs that were counted.
	trigger, digest string
	since           time.Time
	window          time.Duration
	count           int
}

// admit counts inputs. It returns the time at which they may be rendered, and zero if they may be rendered now. The
// first inputs of a spec are not counted. A window that was used up makes the next one longer.
func (b *bursts) admit(trigger, digest string, now time.Time) (due time.Time) {
	end := b.since.Add(b.window)
	switch {
	case b.trigger != trigger:
		*b = bursts{trigger: trigger, digest: digest, since: now, window: minBurstWindow}
		return time.Time{}
	case b.digest == digest:
		return time.Time{}
	case !now.Before(end):
		window := minBurstWindow
		if b.count >= maxBurst && now.Before(end.Add(b.window)) {
			window = min(maxBurstWindow, burstWindowGrow*b.window)
		}
		b.since, b.window, b.count = now, window, 0
	case b.count >= maxBurst:
		return end
	}
	b.count, b.digest = b.count+1, digest
	return time.Time{}
}

// holdBurst returns an error if changed inputs must not be rendered yet, because they have changed too often.
func (p *Pass) holdBurst(c *Component, in input.Inputs) error {
	if c.GetStatus().Revision == 0 || in.AreRecorded(c.GetStatus()) {
		return nil
	}
	trigger, err := repairNonce(c.Object, p.Reconciler, fmt.Sprint(c.GetGeneration()))
	if err != nil {
		return err
	}
	digest, err := in.WithoutEventSources()
	if err != nil {
		return err
	}
	now := p.Clock.Now()
	due := c.State.bursts.admit(trigger, digest, now)
	if due.IsZero() {
		return nil
	}
	return &passerror.Error{
		Reason: metav1alpha1.ReasonInputFeedback, RetryAfter: max(due.Sub(now), time.Millisecond), Message: fmt.Sprintf(
			"the inputs changed %d times within %s, while the spec stayed the same; a component that reads what this one "+
				"writes, or a controller, may change them in turn; the next rendering is at %s, and only repairs are made until "+
				"then; find out who writes the referenced objects, and break the cycle",
			maxBurst, c.State.bursts.window, due.UTC().Format(time.RFC3339)),
	}
}
