package component

import (
	"context"
	"errors"
	"io/fs"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
)

// fetcher answers with what it is given, one answer after the other, each after a second.
type fetcher struct {
	answers chan any
	kept    fs.FS
	busy    atomic.Int32
	most    atomic.Int32
	ended   atomic.Int32
}

func fetcherOf(answers ...any) *fetcher {
	f := &fetcher{answers: make(chan any, len(answers))}
	for _, answer := range answers {
		f.answers <- answer
	}
	return f
}

func (f *fetcher) Fetch(ctx context.Context, _ metav1alpha1.SourceReference) (fs.FS, error) {
	f.most.Store(max(f.most.Load(), f.busy.Add(1)))
	defer f.busy.Add(-1)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		f.ended.Add(1)
		return nil, ctx.Err()
	}
	switch answer := (<-f.answers).(type) {
	case error:
		return nil, answer
	case fs.FS:
		return answer, nil
	case string:
		panic(answer)
	}
	return nil, nil
}

func (f *fetcher) Fetched(metav1alpha1.SourceReference) (fs.FS, bool) { return f.kept, f.kept != nil }

var (
	chart = metav1alpha1.SourceReference{URL: "https://example.com/a.tgz", SHA256: "a"}
	files = fstest.MapFS{"a.yaml": &fstest.MapFile{}}
)

// inBubble runs a test with sources whose wakes are counted.
func inBubble(t *testing.T, f *fetcher, test func(t *testing.T, take func(ref metav1alpha1.SourceReference) (fs.FS, error), wakes *atomic.Int32, s *sources)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSources(t.Context(), f, clock.RealClock{})
		var wakes atomic.Int32
		take := func(ref metav1alpha1.SourceReference) (fs.FS, error) {
			return s.take(shop.NamespacedName, ref, func() { wakes.Add(1) })
		}
		test(t, take, &wakes, s)
	})
}

func TestASourceIsFetchedOffTheWorkerAndWakesOnce(t *testing.T) {
	inBubble(t, fetcherOf(files), func(t *testing.T, take func(metav1alpha1.SourceReference) (fs.FS, error), wakes *atomic.Int32, s *sources) {
		for range 3 {
			if _, err := take(chart); !errors.Is(err, errFetching) {
				t.Fatalf("got %v", err)
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got, err := take(chart); err != nil || got == nil || wakes.Load() != 1 {
			t.Errorf("got %v, %v, %d wakes", got, err, wakes.Load())
		}
		if len(s.fetches) != 0 {
			t.Error("what was taken is kept")
		}
	})
}

func TestASourceAtHandIsNotFetched(t *testing.T) {
	f := fetcherOf()
	f.kept = files
	inBubble(t, f, func(t *testing.T, take func(metav1alpha1.SourceReference) (fs.FS, error), _ *atomic.Int32, _ *sources) {
		if got, err := take(chart); err != nil || got == nil {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func TestAFailedFetchIsRepeatedWhenItIsTime(t *testing.T) {
	inBubble(t, fetcherOf(RetryAfter(errors.New("broken pipe"), 0), RetryAfter(errors.New("no route"), 0), files),
		func(t *testing.T, take func(metav1alpha1.SourceReference) (fs.FS, error), _ *atomic.Int32, _ *sources) {
			expect := func(message string, after time.Duration) {
				t.Helper()
				synctest.Wait()
				_, err := take(chart)
				p := condition.Of(err)
				if p == nil || p.Reason != metav1alpha1.ReasonRetrying || p.Message != message || p.RetryAfter != after {
					t.Errorf("got %+v", p)
				}
			}
			_, _ = take(chart)
			time.Sleep(time.Second)
			expect("fetch the source: broken pipe", time.Second)
			time.Sleep(999 * time.Millisecond)
			expect("fetch the source: broken pipe", time.Millisecond)
			time.Sleep(time.Millisecond)
			expect("fetch the source: broken pipe", maxFetch) // The second attempt is running.
			time.Sleep(time.Second)
			expect("fetch the source: no route", 2*time.Second)
			time.Sleep(2 * time.Second)
			_, _ = take(chart)
			time.Sleep(time.Second)
			synctest.Wait()
			if got, err := take(chart); err != nil || got == nil {
				t.Errorf("got %v, %v", got, err)
			}
		})
}

func TestAFetchThatCannotSucceedStalls(t *testing.T) {
	for name, answer := range map[string]any{
		"fetch the source: not found":                                          error(errors.New("not found")),
		"fetch the source: the fetcher panicked: oh":                           "oh",
		"fetch the source: the fetcher returned neither a source nor an error": nil,
	} {
		inBubble(t, fetcherOf(answer), func(t *testing.T, take func(metav1alpha1.SourceReference) (fs.FS, error), wakes *atomic.Int32, _ *sources) {
			_, _ = take(chart)
			time.Sleep(time.Second)
			synctest.Wait()
			_, err := take(chart)
			if p := condition.Of(err); p.Reason != metav1alpha1.ReasonFetchFailed || !p.Terminal || p.Message != name || wakes.Load() != 1 {
				t.Errorf("got %+v, %d wakes", p, wakes.Load())
			}
		})
	}
}

func TestAnotherSourceEndsTheFetchOfTheFirst(t *testing.T) {
	f := fetcherOf(files)
	inBubble(t, f, func(t *testing.T, take func(metav1alpha1.SourceReference) (fs.FS, error), wakes *atomic.Int32, s *sources) {
		_, _ = take(chart)
		synctest.Wait()
		other := metav1alpha1.SourceReference{URL: chart.URL, SHA256: "b"}
		_, _ = take(other)
		time.Sleep(time.Second)
		synctest.Wait()
		if f.ended.Load() != 1 || wakes.Load() != 1 {
			t.Errorf("%d ended early, %d wakes", f.ended.Load(), wakes.Load())
		}
		if _, err := take(other); err != nil {
			t.Error(err)
		}
		_, _ = take(chart)
		synctest.Wait()
		s.forget(shop.NamespacedName)
		synctest.Wait()
		if f.ended.Load() != 2 || wakes.Load() != 1 {
			t.Errorf("%d ended early, %d wakes", f.ended.Load(), wakes.Load())
		}
	})
}

func TestFewSourcesAreFetchedAtATime(t *testing.T) {
	answers := make([]any, 3*fetchers)
	for i := range answers {
		answers[i] = files
	}
	f := fetcherOf(answers...)
	inBubble(t, f, func(t *testing.T, _ func(metav1alpha1.SourceReference) (fs.FS, error), wakes *atomic.Int32, s *sources) {
		for i := range answers {
			_, _ = s.take(types.NamespacedName{Name: string(rune('a' + i))}, chart, func() { wakes.Add(1) })
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if int(wakes.Load()) != len(answers) || f.most.Load() != fetchers {
			t.Errorf("%d wakes, %d at a time", wakes.Load(), f.most.Load())
		}
	})
}
