package backoff_test

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/backoff"
)

func TestADelayDoublesUpToItsLimit(t *testing.T) {
	b := backoff.Backoff{First: 500 * time.Millisecond, Last: time.Minute}
	for failures, want := range map[int]time.Duration{
		-1: 500 * time.Millisecond, 0: 500 * time.Millisecond, 1: 500 * time.Millisecond, 2: time.Second,
		3: 2 * time.Second, 7: 32 * time.Second, 8: time.Minute, 9: time.Minute, 1_000_000: time.Minute,
	} {
		if got := b.After(failures); got != want {
			t.Errorf("after %d failures: %s, want %s", failures, got, want)
		}
	}
	delay := time.Duration(0)
	for failures := 1; failures < 20; failures++ {
		if delay = b.Next(delay); delay != b.After(failures) {
			t.Errorf("after %d failures: %s, want %s", failures, delay, b.After(failures))
		}
	}
}

func TestADelayDoesNotOverflow(t *testing.T) {
	const longest = time.Duration(1<<63 - 1)
	if got := (backoff.Backoff{First: time.Hour, Last: longest}).After(200); got != longest {
		t.Errorf("got %s", got)
	}
}

func TestAFirstDelayAboveTheLimitIsTheLimit(t *testing.T) {
	b := backoff.Backoff{First: time.Hour, Last: time.Minute}
	if got, next := b.After(1), b.Next(0); got != time.Minute || next != time.Minute {
		t.Errorf("got %s and %s", got, next)
	}
}

func TestJitter(t *testing.T) {
	for _, c := range []struct {
		name             string
		get              func() time.Duration
		earliest, latest time.Duration
	}{
		{
			"around a period", func() time.Duration { return backoff.Around(time.Minute, 0.5) },
			30 * time.Second, 90 * time.Second,
		},
		{
			"before the end of a period", func() time.Duration { return backoff.Sooner(time.Minute, 0.2) },
			48 * time.Second, time.Minute,
		},
		{"within a period", func() time.Duration { return backoff.Within(time.Minute) }, 0, time.Minute},
		{"around no period", func() time.Duration { return backoff.Around(0, 0.5) }, 0, 0},
		{"before the end of no period", func() time.Duration { return backoff.Sooner(0, 0.2) }, 0, 0},
		{"within no period", func() time.Duration { return backoff.Within(0) }, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, last := c.get(), c.get()
			for range 10_000 {
				got := c.get()
				first, last = min(first, got), max(last, got)
			}
			if first < c.earliest || last > c.latest {
				t.Errorf("times from %s to %s, want from %s to %s", first, last, c.earliest, c.latest)
			}
			if most := c.latest - c.earliest; last-first < most*9/10 {
				t.Errorf("times from %s to %s are not spread over %s", first, last, most)
			}
		})
	}
}
