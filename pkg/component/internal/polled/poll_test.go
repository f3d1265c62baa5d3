package polled

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
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

func TestAPollWakesOnlyComponentsWhoseValueDiffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := newReconciler(t), &service{values: map[types.NamespacedName]any{key("a"): 1, key("b"): 1}}
		source := NewPoll(time.Minute, s.fetch)
		if r.Set.Begin(t.Context(), named("early"), nil) {
			t.Error("a set without sources waits")
		}
		r.Add(t, source)
		for _, name := range []string{"a", "b", "c"} {
			if r.Set.Begin(t.Context(), named(name), nil) {
				t.Errorf("%s waits although the values were fetched", name)
			}
		}
		r.Expect(t)
		time.Sleep(2 * time.Minute)
		r.Expect(t)
		s.set(func() { s.values = map[types.NamespacedName]any{key("a"): 1, key("b"): 2, key("unknown"): 3} })
		time.Sleep(2 * time.Minute)
		r.Expect(t, "b")
		s.set(func() { delete(s.values, key("a")) })
		time.Sleep(2 * time.Minute)
		r.Expect(t, "a")
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
		r.Add(t, NewPoll(time.Minute, s.fetch))
		r.Set.Begin(t.Context(), named("a"), nil)
		began := time.Now()
		s.set(func() { s.err = errDown })
		time.Sleep(5 * time.Minute)
		r.Expect(t, "a")
		failures := r.Set.Failures(key("a"))
		if len(failures) != 1 || failures[0].Failure != errDown.Error() || failures[0].Since.Sub(began) > 2*time.Minute {
			t.Errorf("failures: %+v", failures)
		}
		if in, err := r.Set.Inputs(t.Context(), key("a")); err != nil || len(in) != 1 {
			t.Errorf("the last value is lost: %v, %v", in, err)
		}
		s.set(func() { s.err = nil })
		time.Sleep(2 * time.Minute)
		r.Expect(t, "a")
		if failures := r.Set.Failures(key("a")); len(failures) != 0 {
			t.Errorf("failures after a success: %+v", failures)
		}
	})
}

func TestASingleFailureIsRepeatedSoonAndTellsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReconciler(t)
		fail := atomic.Bool{}
		r.Add(t, NewPoll(time.Minute, func(context.Context) (map[types.NamespacedName]any, error) {
			if fail.Swap(false) {
				return nil, errDown
			}
			return map[types.NamespacedName]any{key("a"): 1}, nil
		}))
		r.Set.Begin(t.Context(), named("a"), nil)
		fail.Store(true)
		time.Sleep(3 * time.Minute)
		r.Expect(t)
	})
}

func TestAFirstPassWaitsForTheFirstAnswerOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReconciler(t)
		open := make(chan error)
		r.Add(t, NewPoll(time.Minute, func(ctx context.Context) (map[types.NamespacedName]any, error) {
			select {
			case err := <-open:
				return map[types.NamespacedName]any{key("a"): 1}, err
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}))
		if !r.Set.Begin(t.Context(), named("a"), nil) {
			t.Fatal("the pass does not wait")
		}
		if _, err := r.Set.Inputs(t.Context(), key("a")); err == nil {
			t.Error("an input without a first value is no error")
		}
		open <- errDown
		r.Expect(t)
		if !r.Set.Begin(t.Context(), named("a"), nil) {
			t.Fatal("the pass does not wait after one failure")
		}
		open <- errDown
		r.Expect(t, "a")
		if r.Set.Begin(t.Context(), named("a"), nil) {
			t.Error("the pass waits after two failures")
		}
		open <- nil
		r.Expect(t, "a")
	})
}
