package polled

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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
		r.Add(t, source)
		for _, name := range []string{"panics", "hangs", "works"} {
			r.Set.Begin(t.Context(), named(name), nil)
		}
		r.Expect(t, "works")
		time.Sleep(10 * time.Minute)
		r.Expect(t, "hangs", "panics")
		if got := source.State(key("panics")).Failure; got != "the function panicked: a bug" {
			t.Errorf("failure of the panic: %s", got)
		}
		if calls.Load() != 1 {
			t.Errorf("%d fetches hang, want 1", calls.Load())
		}
		for i := range 3 * MaxFetches {
			r.Set.Begin(t.Context(), named(fmt.Sprint("more-", i)), nil)
		}
		if got := r.Wakes(); len(got) != 3*MaxFetches {
			t.Errorf("%d components got a value beside the fetch that hangs", len(got))
		}
		close(release)
		time.Sleep(2 * time.Minute)
		r.Expect(t, "hangs")
	})
}

func TestAFetchThatDoesNotFindAnObjectFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReconciler(t)
		source := NewPollEach(EachOptions{
			Fetch: func(context.Context, client.Object) (any, error) {
				return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "token")
			},
			After: func(client.Object, any) time.Duration { return time.Minute },
		})
		r.Add(t, source)
		r.Set.Begin(t.Context(), named("a"), nil)
		time.Sleep(10 * time.Minute)
		r.Expect(t, "a")
		if got := source.State(key("a")).Failure; got != `secrets "token" not found` {
			t.Errorf("the failure is %q", got)
		}
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
		r.Add(t, NewPollEach(EachOptions{
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
			r.Set.Begin(t.Context(), named(fmt.Sprint(i)), nil)
		}
		time.Sleep(3*minutes*time.Minute - time.Second)
		r.End()
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

// A fetch that is under way when the key changes is not taken for a fetch that hangs.
func TestPollEachFetchesForANewKeyAfterAFetchThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, address := newReconciler(t), "x"
		var calls []string
		source := NewPollEach(EachOptions{
			Fetch: func(context.Context, client.Object) (any, error) {
				asked := address
				calls = append(calls, asked)
				time.Sleep(8 * time.Second)
				return asked, nil
			},
			After: func(client.Object, any) time.Duration { return 0 },
			Key:   func(client.Object) string { return address },
		})
		r.Add(t, source)
		begin := func() { r.Set.Begin(t.Context(), named("a"), nil) }
		begin()
		for _, next := range []string{"y", "z"} {
			time.Sleep(time.Second)
			address = next
			begin()
			source.Refresh(client.ObjectKeyFromObject(named("a")))
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if s := source.State(client.ObjectKeyFromObject(named("a"))); s.Failure != "" || !s.Waits {
			t.Errorf("during the fetch for the previous key the state is %+v", s)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if value, _, known := source.Get(client.ObjectKeyFromObject(named("a"))); !known || value != "z" {
			t.Errorf("got the value %v, %t", value, known)
		}
		if want := []string{"x", "z"}; !slices.Equal(calls, want) {
			t.Errorf("got the calls %v, want %v", calls, want)
		}
		r.End()
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
		r.Add(t, source)
		begin := func() bool { return r.Set.Begin(t.Context(), named("a"), nil) }
		if !begin() {
			t.Error("the first pass does not wait")
		}
		answers <- struct{}{}
		r.Expect(t, "a")
		time.Sleep(time.Hour)
		r.Expect(t)
		if calls != 1 {
			t.Errorf("%d calls without an interval", calls)
		}
		address = "y"
		if !begin() {
			t.Error("the pass uses the value of another address")
		}
		answers <- struct{}{}
		r.Expect(t, "a")
		if value, _, _ := source.Get(key("a")); value != "y" {
			t.Errorf("value %v", value)
		}
		source.Refresh(key("a"))
		answers <- struct{}{}
		r.Expect(t)
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
		r.Set.Forget(key("a"))
		answers <- struct{}{}
		r.Expect(t)
		if _, _, known := source.Get(key("a")); known || source.values.queue.Len() > 0 {
			t.Error("something of a forgotten component is left")
		}
	})
}
