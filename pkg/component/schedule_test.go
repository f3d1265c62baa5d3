package component

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
)

var shop = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}

func newTimed(o Options) (*Reconciler[*part], *clocktesting.FakePassiveClock) {
	r := NewReconciler[*part]("parts.example.com", nil, o)
	fake := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	r.clock = fake
	return r, fake
}

// between checks a delay that has jitter.
func between(t *testing.T, got, low, high time.Duration) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("got %s, want %s to %s", got, low, high)
	}
}

func TestBackoff(t *testing.T) {
	b := newBackoff()
	for i, longest := range []time.Duration{
		500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second,
		time.Minute, time.Minute, time.Minute,
	} {
		t.Run(fmt.Sprintf("retry %d", i+1), func(t *testing.T) { between(t, b.When(shop), longest*4/5, longest) })
	}
	t.Run("of another component begins anew", func(t *testing.T) {
		between(t, b.When(reconcile.Request{}), 400*time.Millisecond, 500*time.Millisecond)
	})
	t.Run("begins anew when it is forgotten", func(t *testing.T) {
		b.Forget(shop)
		between(t, b.When(shop), 400*time.Millisecond, 500*time.Millisecond)
	})
	t.Run("is spread at random", func(t *testing.T) {
		different := map[time.Duration]bool{}
		for range 20 {
			different[b.When(shop)] = true
		}
		if len(different) < 10 {
			t.Errorf("only %d different delays", len(different))
		}
	})
}

func TestEventsResetTheBackoff(t *testing.T) {
	r, fake := newTimed(Options{})
	retry := func() time.Duration {
		if wait := r.mayBegin(shop); wait != 0 {
			t.Fatalf("must wait %s", wait)
		}
		return r.ended(shop.NamespacedName, r.backoff.When(shop)).RequeueAfter
	}
	after := retry()
	between(t, after, 400*time.Millisecond, 500*time.Millisecond)
	for range 5 {
		fake.SetTime(fake.Now().Add(after))
		after = retry()
	}
	between(t, after, 12*time.Second, 16*time.Second)
	fake.SetTime(fake.Now().Add(after / 2)) // Before it is due: an event.
	between(t, retry(), 400*time.Millisecond, 500*time.Millisecond)
}

func TestRateLimit(t *testing.T) {
	r, fake := newTimed(Options{MinInterval: 10 * time.Second})
	begins := func(want time.Duration) {
		t.Helper()
		if wait := r.mayBegin(shop); wait != want {
			t.Errorf("has to wait %s, want %s", wait, want)
		}
	}
	begins(0)
	if result := r.ended(shop.NamespacedName, time.Second); result.RequeueAfter != 10*time.Second {
		t.Errorf("a retry comes after %s, before the interval is over", result.RequeueAfter)
	}
	begins(10 * time.Second)
	fake.SetTime(fake.Now().Add(4 * time.Second))
	begins(6 * time.Second)
	fake.SetTime(fake.Now().Add(6 * time.Second))
	begins(0)
	if result := r.ended(shop.NamespacedName, 0); result.RequeueAfter != 0 {
		t.Errorf("nothing is due, but a pass comes after %s", result.RequeueAfter)
	}
	if result := r.ended(shop.NamespacedName, time.Hour); result.RequeueAfter != time.Hour {
		t.Errorf("what is due later comes after %s", result.RequeueAfter)
	}
}

func TestWatchesThatDeliverNothing(t *testing.T) {
	r, fake := newTimed(Options{Timeout: time.Minute, MinInterval: time.Hour})
	component := func() *part { p := &part{}; p.Namespace, p.Name = "shop", "web"; return p }
	if result, inTime := r.observing(shop.NamespacedName, component()); !inTime || result.RequeueAfter != time.Minute {
		t.Errorf("comes back after %s, in time: %t", result.RequeueAfter, inTime)
	}
	fake.SetTime(fake.Now().Add(40 * time.Second))
	if wait := r.mayBegin(shop); wait != 0 {
		t.Errorf("a pass that did nothing makes the next wait %s", wait)
	}
	if result, inTime := r.observing(shop.NamespacedName, component()); !inTime || result.RequeueAfter != 20*time.Second {
		t.Errorf("comes back after %s, in time: %t", result.RequeueAfter, inTime)
	}
	fake.SetTime(fake.Now().Add(20 * time.Second))
	late := component()
	if _, inTime := r.observing(shop.NamespacedName, late); inTime {
		t.Error("the time-out is not noticed")
	}
	if v := r.inTime(late, judge(false, Outcome{Observing: true}, nil)); v.reason != metav1alpha1.ReasonTimeout {
		t.Errorf("the verdict is %v", v)
	}
}

func TestDeadlinesUnderEvents(t *testing.T) {
	r, fake := newTimed(Options{Timeout: time.Minute, RetryInterval: time.Hour})
	component := &part{}
	waiting := Outcome{Waiting: []Waiting{waits("ConfigMap shop/a", "InProgress", "")}}
	began := fake.Now()
	for fake.Now().Before(began.Add(time.Minute)) {
		v := r.inTime(component, judge(false, waiting, nil))
		if v.state != metav1alpha1.StateProgressing {
			t.Fatalf("%s after %s", v.state, fake.Now().Sub(began))
		}
		if due := fake.Now().Add(r.comeBack(shop, component, waiting, nil, v)); due != began.Add(time.Minute) {
			t.Fatalf("an event moved the time-out to %s", due)
		}
		fake.SetTime(fake.Now().Add(700 * time.Millisecond))
	}
	if v := r.inTime(component, judge(false, waiting, nil)); v.reason != metav1alpha1.ReasonTimeout {
		t.Errorf("the verdict is %v", v)
	}
}

func TestComeBackAfterErrors(t *testing.T) {
	cause := errors.New("busy")
	for _, c := range []struct {
		name      string
		err       error
		since     time.Duration
		low, high time.Duration
	}{
		{"an error that says when to try again", RetryAfter(cause, 7*time.Second), 0, 7 * time.Second, 7 * time.Second},
		{"one that is wrapped", fmt.Errorf("generate: %w", RetryAfter(cause, 7*time.Second)), 0, 7 * time.Second, 7 * time.Second},
		{"one that leaves the delay open", RetryAfter(cause, 0), 0, 400 * time.Millisecond, 500 * time.Millisecond},
		{"one that says it is terminal", reconcile.TerminalError(cause), 0, time.Hour, time.Hour},
		{"one that says nothing", cause, 0, 400 * time.Millisecond, 500 * time.Millisecond},
		{"one that asks for more than the time that is left", RetryAfter(cause, 10*time.Minute), 50 * time.Second, 10 * time.Second, 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, fake := newTimed(Options{RetryInterval: time.Hour, Timeout: time.Minute})
			component := &part{}
			component.status.ProgressingSince = new(metav1.NewTime(fake.Now().Add(-c.since)))
			p := condition.FromAuthor(c.err, "Failed", false)
			between(t, r.comeBack(shop, component, Outcome{}, p, judge(false, Outcome{}, p)), c.low, c.high)
		})
	}
}

func TestAuthoredErrors(t *testing.T) {
	cause := errors.New("busy")
	for _, c := range []struct {
		name      string
		err       error
		byDefault bool
		terminal  bool
		reason    string
	}{
		{"what says nothing is what the caller says: transient", cause, false, false, metav1alpha1.ReasonRetrying},
		{"what says nothing is what the caller says: terminal", cause, true, true, "Failed"},
		{"what says when to try again is transient", RetryAfter(cause, time.Second), true, false, metav1alpha1.ReasonRetrying},
		{"what says that it is terminal is", reconcile.TerminalError(cause), false, true, "Failed"},
		{"an API server that is overloaded is asked again", fmt.Errorf("x: %w", apierrors.NewTooManyRequests("busy", 3)), true, false, metav1alpha1.ReasonRetrying},
		{"an API server that is in trouble is asked again", fmt.Errorf("x: %w", apierrors.NewInternalError(cause)), true, false, metav1alpha1.ReasonRetrying},
		{"an API server that timed out is asked again", fmt.Errorf("x: %w", apierrors.NewTimeoutError("slow", 0)), true, false, metav1alpha1.ReasonRetrying},
		{
			"an API server that is out of reach is asked again",
			fmt.Errorf("x: %w", &url.Error{Op: "Get", Err: context.DeadlineExceeded}), true, false, metav1alpha1.ReasonRetrying,
		},
		{"what an API server does not have is up to people", apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "a"), true, true, "Failed"},
		{"what an API server refuses is up to people", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", cause), true, true, "Failed"},
		{"what says that it is terminal is, whatever an API server says", reconcile.TerminalError(apierrors.NewInternalError(cause)), true, true, "Failed"},
		{"an address that is none is up to people", &url.Error{Op: "parse", Err: cause}, true, true, "Failed"},
		{"running out of time is up to people: the same would take as long again", context.DeadlineExceeded, true, true, "Failed"},
		{"what says both is tried again", RetryAfter(reconcile.TerminalError(cause), time.Second), true, false, metav1alpha1.ReasonRetrying},
	} {
		t.Run(c.name, func(t *testing.T) {
			if p := condition.FromAuthor(c.err, "Failed", c.byDefault); p.Terminal != c.terminal || p.Reason != c.reason {
				t.Errorf("got %+v", p)
			}
		})
	}
	if p := condition.FromAuthor(apierrors.NewTooManyRequests("busy", 3), "Failed", true); p.RetryAfter != 3*time.Second {
		t.Errorf("asked again after %s", p.RetryAfter)
	}
	if RetryAfter(nil, time.Second) != nil {
		t.Error("no error is none")
	}
}

func TestResync(t *testing.T) {
	for _, c := range []struct {
		name      string
		interval  time.Duration
		low, high time.Duration
	}{
		{"is ten hours by default", 0, 10 * time.Hour, 11 * time.Hour},
		{"is what the options say, and up to a tenth more", time.Hour, time.Hour, 66 * time.Minute},
		{"is off when negative", -1, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := newTimed(Options{ResyncInterval: c.interval})
			between(t, r.resync(&part{}), c.low, c.high)
		})
	}
}

func TestTrigger(t *testing.T) {
	r, _ := newTimed(Options{})
	r.Trigger(shop.NamespacedName)
	var woken []types.NamespacedName
	r.listen(func(name types.NamespacedName) { woken = append(woken, name) })
	r.Trigger(types.NamespacedName{Name: "other"})
	if len(woken) != 2 || woken[0] != shop.NamespacedName || woken[1].Name != "other" {
		t.Errorf("woke %v", woken)
	}
}
