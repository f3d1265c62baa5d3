package schedule

import (
	"fmt"
	"testing"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

func denial(message string) outcome.Outcome {
	o := fails("Forbidden", true)
	o.Waiting[0].Message = message
	return o
}

func TestRetryAfterADenial(t *testing.T) {
	var s State
	now, request := start, Request{UID: "u1"}
	in := Intervals{Retry: 10 * time.Minute, Timeout: 10 * time.Minute}
	forbidden := fails("Forbidden", true)
	pass := func(o outcome.Outcome, p *passerror.Error) time.Duration {
		state := metav1alpha1.StateStalled
		if p == nil && o.Done() {
			state = metav1alpha1.StateReady
		}
		return s.Next(Result{Outcome: o, Failure: p, State: state, Request: request, Now: now}, in)
	}
	soon := func(t *testing.T, after time.Duration) { between(t, after, 400*time.Millisecond, 500*time.Millisecond) }
	waited := func(d time.Duration) { now = now.Add(d) }

	passes, began := 0, now
	for after := pass(forbidden, nil); after < 10*time.Minute; after = pass(forbidden, nil) {
		waited(after)
		passes++
	}
	if passes > 16 || now.Sub(began) > 20*time.Minute {
		t.Errorf("%d passes were made in %s, before the delay reached the retry interval", passes, now.Sub(began))
	}
	t.Run("events do not restart the back-off after denied requests", func(t *testing.T) {
		waited(time.Second)
		between(t, pass(forbidden, nil), 10*time.Minute, 10*time.Minute)
	})
	for what, edit := range map[string]func(){
		"another spec":         func() { request.Generation++ },
		"a request for a pass": func() { request.RequestedAt = "now" },
		"its deletion":         func() { request.Deleting = true },
		"another component":    func() { request.UID += "'" },
	} {
		t.Run(what+" restarts the back-off", func(t *testing.T) {
			edit()
			soon(t, pass(forbidden, nil))
			waited(time.Hour)
			between(t, pass(forbidden, nil), 10*time.Minute, 10*time.Minute)
		})
	}
	t.Run("a denial after a successful pass restarts the back-off", func(t *testing.T) {
		pass(outcome.Outcome{Outcome: result.Outcome{Ready: 1, Desired: 1}}, nil)
		soon(t, pass(forbidden, nil))
	})
	t.Run("a denial of another request restarts the back-off", func(t *testing.T) {
		other := denial("y")
		waited(time.Hour)
		soon(t, pass(other, nil))
		waited(time.Minute)
		t.Run("alternating denials of known requests do not restart the back-off", func(t *testing.T) {
			between(t, pass(forbidden, nil), 48*time.Second, time.Minute)
			between(t, pass(other, nil), 48*time.Second, time.Minute)
		})
	})
	t.Run("denials with a new message each time restart the back-off only a limited number of times", func(t *testing.T) {
		passes, began := 0, now
		for after := time.Duration(0); after < 10*time.Minute && passes <= 30; passes++ {
			after = pass(denial(fmt.Sprint(passes)), nil)
			waited(after)
		}
		if passes > 30 {
			t.Errorf("%d passes were made in %s, before the delay reached the retry interval", passes, now.Sub(began))
		}
		request.Generation++
		pass(forbidden, nil)
	})
	t.Run("a pass that ends with a denial is retried with the same back-off", func(t *testing.T) {
		p := &passerror.Error{Reason: metav1alpha1.ReasonForbidden, Message: "x", Terminal: true}
		soon(t, pass(outcome.Outcome{}, p))
		waited(time.Minute)
		between(t, pass(outcome.Outcome{}, p), 48*time.Second, time.Minute)
	})
}
