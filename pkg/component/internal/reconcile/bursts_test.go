package reconcile

import (
	"fmt"
	"testing"
	"time"
)

func TestRevisionsAfterChangedInputsAreBounded(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var b bursts
	n := 0
	// next admits new inputs.
	next := func(trigger string, now time.Time) time.Time {
		n++
		return b.admit(trigger, fmt.Sprint(n), now)
	}
	fill := func(now time.Time) {
		t.Helper()
		for range maxBurst {
			if due := next("a", now); !due.IsZero() {
				t.Fatalf("inputs are held until %s", due)
			}
		}
	}
	held := func(now, want time.Time) {
		t.Helper()
		if due := next("a", now); !due.Equal(want) {
			t.Errorf("the inputs are held until %s, want %s", due, want)
		}
	}
	if due := b.admit("a", "first", start); !due.IsZero() {
		t.Error("the first inputs are held")
	}
	fill(start)
	held(start, start.Add(time.Minute))
	if due := b.admit("a", fmt.Sprint(maxBurst), start); !due.IsZero() {
		t.Error("inputs that were admitted are held")
	}
	second := start.Add(time.Minute)
	fill(second)
	held(second.Add(time.Minute), second.Add(2*time.Minute))
	third := second.Add(2 * time.Minute)
	fill(third)
	held(third, third.Add(4*time.Minute))
	fourth := third.Add(4 * time.Minute)
	fill(fourth)
	held(fourth, fourth.Add(maxBurstWindow))
	if due := next("b", fourth); !due.IsZero() {
		t.Error("a changed spec is held")
	}
	quiet := fourth.Add(time.Hour)
	b = bursts{trigger: "a", since: fourth, window: maxBurstWindow, count: maxBurst}
	fill(quiet)
	held(quiet, quiet.Add(minBurstWindow))
}
