package sources

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// service answers fetches.
type service struct {
	mu     sync.Mutex
	values map[types.NamespacedName]any
	err    error
	calls  atomic.Int64
}

func (s *service) fetch(context.Context) (map[types.NamespacedName]any, error) {
	s.calls.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.values), s.err
}

func (s *service) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func add(t *testing.T, r *reconciler, source Source) (remove func()) {
	t.Helper()
	remove, err := r.set.Add("rates", source, Use{Input: true})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return remove
}

func TestAPollWakesOnlyComponentsWhoseValueDiffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := newReconciler(t), &service{values: map[types.NamespacedName]any{key("a"): 1, key("b"): 1}}
		source := NewPoll(time.Minute, s.fetch)
		if r.set.Begin(t.Context(), named("early"), nil) {
			t.Error("a set without sources waits")
		}
		add(t, r, source)
		for _, name := range []string{"a", "b", "c"} {
			if r.set.Begin(t.Context(), named(name), nil) {
				t.Errorf("%s waits although the values were fetched", name)
			}
		}
		r.expect(t)
		time.Sleep(2 * time.Minute)
		r.expect(t)
		s.set(func() { s.values = map[types.NamespacedName]any{key("a"): 1, key("b"): 2, key("unknown"): 3} })
		time.Sleep(2 * time.Minute)
		r.expect(t, "b")
		s.set(func() { delete(s.values, key("a")) })
		time.Sleep(2 * time.Minute)
		r.expect(t, "a")
		if _, _, known := source.Get(key("a")); known {
			t.Error("a value that the service does not know any more is still known")
		}
		source.Refresh()
		before := s.calls.Load()
		synctest.Wait()
		if s.calls.Load() != before+1 {
			t.Error("Refresh fetched nothing")
		}
	})
}

func TestAFailingFetchKeepsTheLastValueAndTellsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := newReconciler(t), &service{values: map[types.NamespacedName]any{key("a"): 1}}
		add(t, r, NewPoll(time.Minute, s.fetch))
		r.set.Begin(t.Context(), named("a"), nil)
		began := time.Now()
		s.set(func() { s.err = errDown })
		time.Sleep(5 * time.Minute)
		r.expect(t, "a")
		failures := r.set.Failures(key("a"))
		if len(failures) != 1 || failures[0].Failure != errDown.Error() || failures[0].Since.Sub(began) > 2*time.Minute {
			t.Errorf("failures: %+v", failures)
		}
		if in, err := r.set.Inputs(t.Context(), key("a")); err != nil || len(in) != 1 {
			t.Errorf("the last value is lost: %v, %v", in, err)
		}
		s.set(func() { s.err = nil })
		time.Sleep(2 * time.Minute)
		r.expect(t, "a")
		if failures := r.set.Failures(key("a")); len(failures) != 0 {
			t.Errorf("failures after a success: %+v", failures)
		}
	})
}

func TestASingleFailureIsRepeatedSoonAndTellsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReconciler(t)
		fail := atomic.Bool{}
		add(t, r, NewPoll(time.Minute, func(context.Context) (map[types.NamespacedName]any, error) {
			if fail.Swap(false) {
				return nil, errDown
			}
			return map[types.NamespacedName]any{key("a"): 1}, nil
		}))
		r.set.Begin(t.Context(), named("a"), nil)
		fail.Store(true)
		time.Sleep(3 * time.Minute)
		r.expect(t)
	})
}

func TestAFirstPassWaitsForTheFirstAnswerOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReconciler(t)
		open := make(chan error)
		add(t, r, NewPoll(time.Minute, func(ctx context.Context) (map[types.NamespacedName]any, error) {
			select {
			case err := <-open:
				return map[types.NamespacedName]any{key("a"): 1}, err
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}))
		if !r.set.Begin(t.Context(), named("a"), nil) {
			t.Fatal("the pass does not wait")
		}
		if _, err := r.set.Inputs(t.Context(), key("a")); err == nil {
			t.Error("an input without a first value is no error")
		}
		open <- errDown
		r.expect(t)
		if !r.set.Begin(t.Context(), named("a"), nil) {
			t.Fatal("the pass does not wait after one failure")
		}
		open <- errDown
		r.expect(t, "a")
		if r.set.Begin(t.Context(), named("a"), nil) {
			t.Error("the pass waits after two failures")
		}
		open <- nil
		r.expect(t, "a")
	})
}

func TestPanicsAndHangsAreContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReconciler(t)
		release, calls := make(chan struct{}), atomic.Int64{}
		source := NewPollEach(EachOptions{
			Fetch: func(_ context.Context, obj client.Object) (any, error) {
				if obj.GetName() == "panics" {
					panic("a bug")
				}
				if obj.GetName() == "hangs" {
					calls.Add(1)
					<-release
				}
				return 1, nil
			},
			After: func(client.Object, any) time.Duration { return time.Minute },
		})
		add(t, r, source)
		for _, name := range []string{"panics", "hangs", "works"} {
			r.set.Begin(t.Context(), named(name), nil)
		}
		r.expect(t, "works")
		time.Sleep(10 * time.Minute)
		r.expect(t, "hangs", "panics")
		if got := source.State(key("panics")).Failure; got != "the function panicked: a bug" {
			t.Errorf("failure of the panic: %s", got)
		}
		if calls.Load() != 1 {
			t.Errorf("%d fetches hang, want 1", calls.Load())
		}
		for i := range 3 * MaxFetches {
			r.set.Begin(t.Context(), named(fmt.Sprint("more-", i)), nil)
		}
		if got := r.wakes(); len(got) != 3*MaxFetches {
			t.Errorf("%d components got a value beside the fetch that hangs", len(got))
		}
		close(release)
		time.Sleep(2 * time.Minute)
		r.expect(t, "hangs")
	})
}

func TestFetchesAreSpreadEvenlyOverTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const components, interval, minutes = 1000, 10 * time.Minute, 10
		r := newReconciler(t)
		calls := [1 + 3*minutes]int{}
		began := time.Now()
		var inFlight, most atomic.Int64
		var mu sync.Mutex
		add(t, r, NewPollEach(EachOptions{
			Fetch: func(ctx context.Context, _ client.Object) (any, error) {
				most.Store(max(most.Load(), inFlight.Add(1)))
				defer inFlight.Add(-1)
				select {
				case <-time.After(10 * time.Millisecond):
				case <-ctx.Done(): // A fetch may be in flight at the end of the test.
				}
				return 1, ctx.Err()
			},
			After: func(client.Object, any) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				calls[int(time.Since(began)/time.Minute)]++
				return interval
			},
		}))
		for i := range components {
			r.set.Begin(t.Context(), named(fmt.Sprint(i)), nil)
		}
		time.Sleep(3*minutes*time.Minute - time.Second)
		r.end()
		synctest.Wait()
		if calls[0] < components {
			t.Errorf("%d first fetches in the first minute", calls[0])
		}
		// The first period is spread; afterwards there are 100 calls in each minute.
		for minute := 2 * minutes; minute < 3*minutes; minute++ {
			if calls[minute] < 60 || calls[minute] > 140 {
				t.Errorf("%d calls in minute %d, want about 100: %v", calls[minute], minute, calls)
			}
		}
		if most.Load() > MaxFetches {
			t.Errorf("%d fetches at the same time", most.Load())
		}
	})
}

func TestPollEachFollowsKeyWhenAndForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, address, wanted, calls := newReconciler(t), "x", true, 0
		answers := make(chan struct{})
		source := NewPollEach(EachOptions{
			Fetch: func(context.Context, client.Object) (any, error) { calls++; <-answers; return address, nil },
			After: func(client.Object, any) time.Duration { return 0 },
			When:  func(client.Object) bool { return wanted },
			Key:   func(client.Object) string { return address },
		})
		add(t, r, source)
		begin := func() bool { return r.set.Begin(t.Context(), named("a"), nil) }
		if !begin() {
			t.Error("the first pass does not wait")
		}
		answers <- struct{}{}
		r.expect(t, "a")
		time.Sleep(time.Hour)
		r.expect(t)
		if calls != 1 {
			t.Errorf("%d calls without an interval", calls)
		}
		address = "y"
		if !begin() {
			t.Error("the pass uses the value of another address")
		}
		answers <- struct{}{}
		r.expect(t, "a")
		if value, _, _ := source.Get(key("a")); value != "y" {
			t.Errorf("value %v", value)
		}
		source.Refresh(key("a"))
		answers <- struct{}{}
		r.expect(t)
		if calls != 3 {
			t.Errorf("%d calls after Refresh", calls)
		}
		wanted = false
		if begin() {
			t.Error("a component without a value waits")
		}
		if _, _, known := source.Get(key("a")); known {
			t.Error("the value is known although the component wants none")
		}
		wanted = true
		begin()
		synctest.Wait()
		r.set.Forget(key("a"))
		answers <- struct{}{}
		r.expect(t)
		if _, _, known := source.Get(key("a")); known || len(source.queue) > 0 {
			t.Error("something of a forgotten component is left")
		}
	})
}
