package schedule

import (
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func waits(name, reason, message string) result.Waiting {
	report := metav1alpha1.DependentReport{Dependent: name, Reason: reason, Message: message}
	return result.Waiting{DependentReport: report}
}

func fails(reason string, terminal bool) outcome.Outcome {
	w := waits("A a", reason, "x")
	w.Failed, w.Terminal = true, terminal
	return outcome.Outcome{Outcome: result.Outcome{Waiting: []result.Waiting{w}}}
}

// between checks that a delay with jitter is between low and high.
func between(t *testing.T, got, low, high time.Duration) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("the delay is %s, want %s to %s", got, low, high)
	}
}

func TestBackoff(t *testing.T) {
	var s State
	for i, longest := range []time.Duration{
		500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second,
		32 * time.Second, time.Minute, time.Minute, time.Minute,
	} {
		t.Run(fmt.Sprintf("retry %d", i+1), func(t *testing.T) { between(t, s.Retry(), longest*4/5, longest) })
	}
	t.Run("another component has its own back-off", func(t *testing.T) {
		between(t, new(State).Retry(), 400*time.Millisecond, 500*time.Millisecond)
	})
	t.Run("a reset restarts the back-off", func(t *testing.T) {
		s.ResetRetry()
		between(t, s.Retry(), 400*time.Millisecond, 500*time.Millisecond)
	})
	t.Run("the delays have jitter", func(t *testing.T) {
		different := map[time.Duration]bool{}
		for range 20 {
			different[s.Retry()] = true
		}
		if len(different) < 10 {
			t.Errorf("the jitter gives only %d different delays, want at least 10", len(different))
		}
	})
}

func TestEventsResetTheBackoff(t *testing.T) {
	var s State
	now := start
	retry := func() time.Duration {
		if wait := s.Begin(0, now); wait != 0 {
			t.Fatalf("Begin returned a wait of %s before the next pass, want none", wait)
		}
		return s.End(s.Retry(), 0, now)
	}
	after := retry()
	between(t, after, 400*time.Millisecond, 500*time.Millisecond)
	for range 5 {
		now = now.Add(after)
		after = retry()
	}
	between(t, after, 12*time.Second, 16*time.Second)
	now = now.Add(after / 2) // An event starts a pass before the delay is over.
	between(t, retry(), 400*time.Millisecond, 500*time.Millisecond)
}

func TestTheEndOfAWaitKeepsTheBackoff(t *testing.T) {
	for name, wait := range map[string]func(*State, time.Time){
		"for a watch": func(s *State, now time.Time) { s.Observe(nil, time.Hour, now) },
		"for a turn":  func(s *State, now time.Time) { s.Wait(time.Hour, now) },
		"for a watch, then for a turn": func(s *State, now time.Time) {
			s.Observe(nil, time.Hour, now)
			s.Wait(time.Hour, now)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var s State
			now := start
			for range 6 {
				now = now.Add(s.End(s.Retry(), 0, now))
				s.Begin(0, now)
			}
			wait(&s, now)
			now = now.Add(time.Second) // The wait ends.
			s.Begin(0, now)
			between(t, s.End(s.Retry(), 0, now), 25*time.Second, 32*time.Second)
			now = now.Add(time.Second) // An event starts a pass before the delay is over.
			s.Begin(0, now)
			between(t, s.End(s.Retry(), 0, now), 400*time.Millisecond, 500*time.Millisecond)
		})
	}
}

func TestTheRateLimitDoesNotDelayATurn(t *testing.T) {
	var s State
	s.End(0, time.Minute, start)
	now := start.Add(time.Minute)
	if after := s.Wait(time.Hour, now); after != time.Hour {
		t.Errorf("the delay is %s", after)
	}
	if wait := s.Begin(time.Minute, now.Add(time.Second)); wait != 0 {
		t.Errorf("the next pass has to wait %s after a pass that did nothing", wait)
	}
	s.End(0, time.Minute, now)
	if wait := s.Begin(time.Minute, now.Add(time.Second)); wait != 59*time.Second {
		t.Errorf("the next pass has to wait %s after a pass that rendered", wait)
	}
}

func TestAPassThatContinuesAnotherIsNeitherDelayedNorAnEvent(t *testing.T) {
	var s State
	s.End(0, time.Minute, start)
	now := start.Add(time.Minute)
	for range 10 {
		s.Begin(time.Minute, now)
		s.End(s.Retry(), time.Minute, now)
		now = now.Add(time.Minute)
	}
	s.Begin(time.Minute, now.Add(time.Minute)) // The retry is due.
	s.Again()
	if wait := s.Begin(time.Minute, now.Add(time.Minute)); wait != 0 {
		t.Errorf("the next pass has to wait %s after a pass that it continues", wait)
	}
	between(t, s.Retry(), 25*time.Second, 5*time.Minute)
	s.End(0, time.Minute, now)
	if wait := s.Begin(time.Minute, now.Add(time.Second)); wait != 59*time.Second {
		t.Errorf("the next pass has to wait %s after a report", wait)
	}
}

func TestAPassThatContinuesAnotherEndsAWaitForAWatch(t *testing.T) {
	var s State
	s.Observe(nil, time.Minute, start)
	s.Again()
	now := start.Add(time.Hour)
	if after, inTime := s.Observe(nil, time.Minute, now); !inTime || after != time.Minute {
		t.Errorf("the next wait ends after %s, in time: %t", after, inTime)
	}
}

func TestRateLimit(t *testing.T) {
	var s State
	const minimum = 10 * time.Second
	begins := func(after, want time.Duration) {
		t.Helper()
		if wait := s.Begin(minimum, start.Add(after)); wait != want {
			t.Errorf("the next pass has to wait %s, want %s", wait, want)
		}
	}
	begins(0, 0)
	if after := s.End(time.Second, minimum, start); after != minimum {
		t.Errorf("the delay is %s, want the minimum interval", after)
	}
	begins(0, 10*time.Second)
	begins(4*time.Second, 6*time.Second)
	begins(10*time.Second, 0)
	if after := s.End(0, minimum, start); after != 0 {
		t.Errorf("the delay is %s although no pass is due", after)
	}
	if after := s.End(time.Hour, minimum, start); after != time.Hour {
		t.Errorf("a delay longer than the minimum interval became %s", after)
	}
}

func TestWatchesThatDeliverNothing(t *testing.T) {
	var s State
	now := start
	if after, inTime := s.Observe(nil, time.Minute, now); !inTime || after != time.Minute {
		t.Errorf("Observe returned the delay %s, and %t for the time before the timeout", after, inTime)
	}
	now = now.Add(40 * time.Second)
	if wait := s.Begin(time.Hour, now); wait != 0 {
		t.Errorf("the next pass has to wait %s after a pass that did nothing", wait)
	}
	if after, inTime := s.Observe(nil, time.Minute, now); !inTime || after != 20*time.Second {
		t.Errorf("Observe returned the delay %s, and %t for the time before the timeout", after, inTime)
	}
	now = now.Add(20 * time.Second)
	if _, inTime := s.Observe(nil, time.Minute, now); inTime {
		t.Error("Observe did not report the end of the timeout")
	}
	if !s.ObservingSince().Equal(start) {
		t.Errorf("the wait for the watches began at %s", s.ObservingSince())
	}
	if _, inTime := s.Observe(nil, 0, now); !inTime {
		t.Error("Observe reports a timeout for a component without a timeout")
	}
}

func TestNextPass(t *testing.T) {
	in := Intervals{Resync: time.Hour, Retry: time.Minute, Timeout: 10 * time.Minute}
	waiting := outcome.Outcome{Outcome: result.Outcome{
		Waiting: []result.Waiting{waits("ConfigMap shop/a", "NotGone", "finalizers hold it")},
	}}
	const (
		ready, progressing = metav1alpha1.StateReady, metav1alpha1.StateProgressing
		stalled, goes      = metav1alpha1.StateStalled, metav1alpha1.StateDeleting
	)
	blocked := outcome.Outcome{Outcome: result.Outcome{Blocked: []result.Blocked{{Type: "Widget.example.com", Count: 1}}}}
	unlisted := outcome.Outcome{Outcome: result.Outcome{
		Blocked: []result.Blocked{{Type: "Widget.example.com", Error: "no answer"}},
	}}
	for _, c := range []struct {
		name     string
		outcome  outcome.Outcome
		state    metav1alpha1.State
		min, max time.Duration
	}{
		{"a ready component is due at the resync", outcome.Outcome{Outcome: result.Outcome{
			Ready: 1, Desired: 1,
		}}, ready, 54 * time.Minute, time.Hour},
		{"a progressing component has until its timeout", waiting, progressing, time.Second, 10 * time.Minute},
		{"a transient failure is retried at once", fails("Timeout", false), progressing, 1, time.Second},
		{"a terminal failure is retried at the retry interval", fails("Invalid", true), stalled, time.Minute, time.Minute},
		{"a missing right is retried soon", fails("Forbidden", true), stalled, 1, time.Second},
		{"a namespace that is not empty is retried soon", fails("NamespaceNotEmpty", true), stalled, 1, time.Second},
		{"a denied request of a deletion is retried soon", fails("BadRequest", true), goes, 1, time.Second},
		{"a Job that failed in a deletion is watched", fails("DependentFailed", true), goes, time.Minute, time.Minute},
		{"a waiting deletion is due at the retry interval", waiting, goes, time.Minute, time.Minute},
		{"a deletion with foreign instances is due at the retry interval", blocked, goes, time.Minute, time.Minute},
		{"a deletion that cannot list instances is retried", unlisted, goes, 1, time.Second},
		{"a deletion that fails is retried at once", fails("Timeout", false), goes, 1, time.Second},
		{"a suspended component has no next pass", waiting, metav1alpha1.StateSuspended, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s State
			got := s.Next(Result{
				Outcome: c.outcome, State: c.state, ProgressingSince: new(metav1.NewTime(start)), Now: start,
				Request: Request{Deleting: c.state == goes},
			}, in)
			between(t, got, c.min, c.max)
		})
	}
}

func TestDeadlinesUnderEvents(t *testing.T) {
	var s State
	waiting := outcome.Outcome{Outcome: result.Outcome{
		Waiting: []result.Waiting{waits("ConfigMap shop/a", "InProgress", "")},
	}}
	in := Intervals{Timeout: time.Minute, Retry: time.Hour}
	for now := start; now.Before(start.Add(time.Minute)); now = now.Add(700 * time.Millisecond) {
		after := s.Next(Result{
			Outcome: waiting, State: metav1alpha1.StateProgressing, ProgressingSince: new(metav1.NewTime(start)), Now: now,
		}, in)
		if due := now.Add(after); !due.Equal(start.Add(time.Minute)) {
			t.Fatalf("an event moved the timeout to %s, want no change", due)
		}
	}
}

func TestNextPassAfterErrors(t *testing.T) {
	cause := errors.New("busy")
	retry := func(after time.Duration) error { return &passerror.Retry{Cause: cause, After: after} }
	for _, c := range []struct {
		name      string
		err       error
		since     time.Duration
		low, high time.Duration
	}{
		{"an error with a delay", retry(7 * time.Second), 0, 7 * time.Second, 7 * time.Second},
		{
			"an error with a delay in its chain", fmt.Errorf("generate: %w", retry(7*time.Second)), 0, 7 * time.Second,
			7 * time.Second,
		},
		{"an error with a delay of zero", retry(0), 0, 400 * time.Millisecond, 500 * time.Millisecond},
		{"a terminal error", reconcile.TerminalError(cause), 0, time.Hour, time.Hour},
		{"a plain error", cause, 0, 400 * time.Millisecond, 500 * time.Millisecond},
		{
			"a delay that is longer than the remaining time",
			retry(10 * time.Minute), 50 * time.Second, 10 * time.Second, 10 * time.Second,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s State
			p := passerror.FromAuthor(c.err, "Failed", false)
			between(t, s.Next(Result{
				Failure: p, State: p.EffectiveState(), ProgressingSince: new(metav1.NewTime(start.Add(-c.since))), Now: start,
			}, Intervals{Retry: time.Hour, Timeout: time.Minute}), c.low, c.high)
		})
	}
}

func TestResync(t *testing.T) {
	between(t, resync(time.Hour), 54*time.Minute, time.Hour)
	if resync(0) != 0 || resync(-1) != 0 {
		t.Error("a component without a resync interval has a next pass")
	}
}

func TestNoLater(t *testing.T) {
	for _, c := range []struct {
		name  string
		delay time.Duration
		due   time.Time
		want  time.Duration
	}{
		{"the delay does not change if nothing is due", time.Hour, time.Time{}, time.Hour},
		{"a due time before the end of the delay shortens the delay", time.Hour, time.Unix(1060, 0), time.Minute},
		{"a due time after the end of the delay does not change the delay", time.Minute, time.Unix(4600, 0), time.Minute},
		{"a due time limits a delay without end", 0, time.Unix(1060, 0), time.Minute},
		{"an overdue pass starts at once", 0, time.Unix(900, 0), time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := noLater(c.delay, c.due, time.Unix(1000, 0)); got != c.want {
				t.Errorf("noLater returned the delay %s", got)
			}
		})
	}
}
