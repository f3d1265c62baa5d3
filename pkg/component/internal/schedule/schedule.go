package schedule

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/backoff"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// Intervals are the intervals of a component.
type Intervals struct {
	// Resync is the interval of the periodic resync. If it is zero or less, there is no resync.
	Resync time.Duration
	// Retry is the delay before the next pass after a failure that needs a change by a person or another controller.
	Retry time.Duration
	// Timeout is the time in which the component must become Ready; zero or less means no limit.
	Timeout time.Duration
}

// State is the state that the schedule keeps for one component: the times of its last pass, and its back-off. The zero
// value is the state of a component before its first pass. A State needs no lock, because only passes use it, and a
// component has only one pass at a time.
type State struct {
	ended, due time.Time
	// observing is the time when the component began to wait for watches: the first of several consecutive passes that
	// only waited. observing is zero if the last pass did not wait for watches.
	observing time.Time
	// waiting is set if the last pass ended because the component waits for its turn to render, or because the next pass
	// continues it.
	waiting bool
	// delay is the delay of the last retry.
	delay  time.Duration
	denied denied
}

// Begin returns how long a pass has to wait because of the rate limit, or zero if it may run now. If the pass has to
// wait, it handles all events that arrive in the meantime. A pass that begins before its scheduled time was started by
// an event. An event resets the back-off of retries, unless it is the end of a wait for a watch, a job or a turn.
func (s *State) Begin(minimum time.Duration, now time.Time) (wait time.Duration) {
	if s.observing.IsZero() && !s.waiting && (s.due.IsZero() || now.Before(s.due)) {
		s.ResetRetry()
	}
	if minimum <= 0 || s.ended.IsZero() {
		return 0
	}
	return max(0, s.ended.Add(minimum).Sub(now))
}

// End is called at the end of a pass, and returns the delay before the next pass. after is the delay that the pass
// requires; zero means that only an event starts the next pass. A delay that is shorter than minimum, the rate limit,
// is extended to minimum.
func (s *State) End(after, minimum time.Duration, now time.Time) time.Duration {
	if after > 0 {
		after = max(after, minimum)
	}
	s.ended, s.due, s.observing, s.waiting = now, time.Time{}, time.Time{}, false
	if after > 0 {
		s.due = now.Add(after)
	}
	return after
}

// Observe is called at the end of a pass that did nothing because the first list of a watch is not complete. The watch
// starts the next pass when the list is complete; the rate limit does not delay that pass. Observe returns the delay
// until the component's timeout, and whether the timeout is not over yet.
func (s *State) Observe(
	progressing *metav1.Time,
	timeout time.Duration,
	now time.Time,
) (after time.Duration, inTime bool) {
	s.waiting = false
	if s.observing.IsZero() {
		s.observing = now
	}
	if progressing == nil {
		progressing = new(metav1.NewTime(s.observing))
	}
	after = timeLeft(progressing, timeout, now)
	s.due = now.Add(after)
	return after, timeout <= 0 || after > 0
}

// Wait is called at the end of a pass that did nothing because the component waits for its turn to render. The turn
// starts the next pass, which the rate limit does not delay, because the turn is kept for a short time only. after is
// the delay before the next pass if the turn does not come. Wait returns after.
func (s *State) Wait(after time.Duration, now time.Time) time.Duration {
	s.due, s.observing, s.waiting = now.Add(after), time.Time{}, true
	return after
}

// Again is called at the end of a pass that the next pass continues at once. The rate limit does not delay that pass,
// and it is no event that resets the back-off. A wait for watches is over.
func (s *State) Again() { s.observing, s.waiting = time.Time{}, true }

// ObservingSince returns the time when the component began to wait for watches. The result is zero if the component
// does not wait for watches.
func (s *State) ObservingSince() time.Time { return s.observing }

// Result is the part of the result of a pass that decides when the next pass is due.
type Result struct {
	Outcome outcome.Outcome
	// Failure is the error that ended the pass, or nil if there was no error.
	Failure *passerror.Error
	// State and Reason are the state and the reason of the component at the end of the pass; see status.PassResult.
	State  metav1alpha1.State
	Reason string
	// ProgressingSince is a field of the component's status: the time since when the component has been progressing.
	// ProgressingSince is nil if the component is not progressing.
	ProgressingSince *metav1.Time
	Request          Request
	Now              time.Time
}

// Next returns the delay before the next pass, unless an event starts a pass earlier. Next returns zero if only an
// event starts the next pass.
func (s *State) Next(p Result, in Intervals) time.Duration {
	after := s.next(p, in)
	left := timeLeft(p.ProgressingSince, in.Timeout, p.Now)
	if p.State == metav1alpha1.StateProgressing && left > 0 && (after == 0 || left < after) {
		after = left
	}
	return noLater(after, p.Outcome.NextDue, p.Now)
}

// isIdle reports whether only an event can end the wait of a component.
func isIdle(p Result) bool {
	return p.State == metav1alpha1.StateSuspended || p.Reason == metav1alpha1.ReasonForeignFinalizers
}

func (s *State) next(p Result, in Intervals) time.Duration {
	failed, terminal := p.Outcome.Failures()
	switch {
	case isIdle(p):
		return 0
	case p.Failure != nil && p.Failure.RetryAfter > 0:
		return p.Failure.RetryAfter
	case p.Failure != nil && !p.Failure.Terminal, len(failed) > len(terminal),
		slices.ContainsFunc(p.Outcome.Blocked, result.Blocked.Unlisted):
		return s.Retry()
	}
	s.ResetRetry()
	if digest := denialDigest(p.Request.Deleting, terminal, p.Failure); digest != "" {
		return s.retryDenied(p.Request, digest, in.Retry, p.Now)
	}
	s.denied = denied{}
	unobserved := len(terminal) > 0 || len(p.Outcome.Unwatched) > 0
	if unobserved || p.State == metav1alpha1.StateStalled || p.Request.Deleting {
		return in.Retry
	}
	return resync(in.Resync)
}

// resync returns a resync interval less a random time of up to a tenth of it, so that the resyncs of many components do
// not coincide. The interval is the longest time without a pass.
func resync(interval time.Duration) time.Duration {
	if interval <= 0 {
		return 0
	}
	return backoff.Sooner(interval, 0.1)
}

// noLater shortens a delay so that it ends at the time due at the latest, unless due is zero. A delay of zero means
// that the delay has no end.
func noLater(delay time.Duration, due, now time.Time) time.Duration {
	if due.IsZero() {
		return delay
	}
	left := max(time.Millisecond, due.Sub(now))
	if delay == 0 {
		return left
	}
	return min(delay, left)
}

// timeLeft returns how long a component may still take to become Ready. timeLeft returns zero if the timeout is over,
// or if there is no timeout.
func timeLeft(since *metav1.Time, timeout time.Duration, now time.Time) time.Duration {
	if since == nil || timeout <= 0 {
		return 0
	}
	return max(0, since.Add(timeout).Sub(now))
}

// Earlier returns the shorter of two delays. A delay of zero means that the delay has no end.
func Earlier(a, b time.Duration) time.Duration {
	switch {
	case a == 0:
		return b
	case b == 0:
		return a
	}
	return min(a, b)
}
