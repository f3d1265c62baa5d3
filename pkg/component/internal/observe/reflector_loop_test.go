package observe

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// TestRetrySignalsWaitForTheMinimumDelay sends a retry signal every 100 ms to a loop whose attempts fail, and counts
// the attempts in a minute.
func TestRetrySignalsWaitForTheMinimumDelay(t *testing.T) {
	widgets := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	for _, c := range []struct {
		name        string
		err         error
		least, most int32
	}{
		{
			"a refused type is listed every few seconds",
			apierrors.NewForbidden(schema.GroupResource{Resource: "widgets"}, "", nil), 12, 20,
		},
		{"a type that is not served is listed about twice a second", &meta.NoKindMatchError{GroupKind: widgets}, 60, 150},
		{"a server that does not answer is tried every second", context.DeadlineExceeded, 50, 65},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				attempts := atomic.Int32{}
				s := newWatchFixture(t)
				s.unlisted(plan.WaitObserving)
				go reflectorLoop{
					requests: func() (*cache.ListWatch, error) {
						attempts.Add(1)
						return nil, c.err
					},
					store: s, listener: s, retry: s.retrySignal, name: c.name,
				}.run(ctx)
				for range 600 {
					time.Sleep(100 * time.Millisecond)
					s.observer.mu.Lock()
					s.retryNow()
					s.observer.mu.Unlock()
				}
				if got := attempts.Load(); got < c.least || got > c.most {
					t.Errorf("the loop made %d attempts in a minute", got)
				}
				cancel()
				synctest.Wait()
			})
		})
	}
}

// TestARetrySignalEndsALongPause covers a definition that is created long after the first failure.
func TestARetrySignalEndsALongPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		attempts := atomic.Int32{}
		s := newWatchFixture(t)
		s.unlisted(plan.WaitObserving)
		go reflectorLoop{
			requests: func() (*cache.ListWatch, error) {
				attempts.Add(1)
				return nil, &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Widget"}}
			},
			store: s, listener: s, retry: s.retrySignal, name: "widgets",
		}.run(ctx)
		time.Sleep(10*time.Minute + 30*time.Second)
		before := attempts.Load()
		s.observer.mu.Lock()
		s.retryNow()
		s.observer.mu.Unlock()
		synctest.Wait()
		if got := attempts.Load() - before; got != 1 {
			t.Errorf("the retry signal started %d attempts at once, want 1", got)
		}
		time.Sleep(time.Second)
		if got := attempts.Load() - before; got < 3 {
			t.Errorf("the retry signal started %d attempts in the next second, want at least 3", got)
		}
		cancel()
		synctest.Wait()
	})
}

func TestARefusedWatchOnLabelledObjectsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		attempts := atomic.Int32{}
		store := &labelledStore{handler: &handler{}}
		go reflectorLoop{
			requests: func() (*cache.ListWatch, error) {
				attempts.Add(1)
				return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", nil)
			},
			store: store, listener: store, refused: labelledRefused, name: "secrets",
		}.run(ctx)
		for _, c := range []struct {
			after       time.Duration
			least, most int32
		}{
			{10 * time.Second, 2, 3},
			{24 * time.Hour, 26, 40},
		} {
			time.Sleep(c.after)
			if got := attempts.Load(); got < c.least || got > c.most {
				t.Errorf("%s later the loop has made %d attempts, want %d to %d", c.after, got, c.least, c.most)
			}
		}
		cancel()
		synctest.Wait()
	})
}

// resettable is a mapper that counts its resets.
type resettable struct {
	meta.RESTMapper
	resets int
}

func (r *resettable) Reset() { r.resets++ }

func TestMapperIsResetAfterANotFound(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want int
	}{
		{
			"resets after a 404",
			fmt.Errorf("list: %w", apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{}, "", "", 0, true)), 1,
		},
		{"does not reset if the mapper found no match", &meta.NoKindMatchError{}, 0},
		{"does not reset after a refusal", apierrors.NewForbidden(schema.GroupResource{}, "", nil), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &resettable{}
			reflectorLoop{mapper: m}.resetMapper(c.err)
			if m.resets != c.want {
				t.Errorf("the mapper was reset %d times", m.resets)
			}
		})
	}
}

func TestTheVersionOfTheLastWatchCallIsPreferred(t *testing.T) {
	s := newWatchFixture(t)
	s.observer.Watch("us", Reader{}, map[WatchedResource]string{{Type: configMaps}: "v2"}, func() {})
	if got := s.preferredVersion(); got != "v2" {
		t.Errorf("the preferred version is %q, want v2", got)
	}
}
