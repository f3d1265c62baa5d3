package input

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

// fetcher is a fake Fetcher. Each call takes a second and uses the next of the answers: an error or a source is
// returned, and a string causes a panic.
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
	web   = types.NamespacedName{Namespace: "shop", Name: "web"}
	chart = metav1alpha1.SourceReference{URL: "https://example.com/a.tgz", SHA256: "a"}
	files = fstest.MapFS{"a.yaml": &fstest.MapFile{}}
)

// bubble is a Fetches with a count of the calls of wake.
type bubble struct {
	*Fetches
	wakes atomic.Int32
}

// take calls Take for the component web.
func (b *bubble) take(ref metav1alpha1.SourceReference) (fs.FS, error) {
	return b.Take(web, ref, func() { b.wakes.Add(1) })
}

// inBubble runs a test with a fetcher in a synctest bubble, in which sleeping takes no time.
func inBubble(t *testing.T, f *fetcher, test func(t *testing.T, b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, &bubble{Fetches: NewFetches(t.Context(), f, clock.RealClock{})})
	})
}

func TestASourceIsFetchedBesideThePassAndWakesOnce(t *testing.T) {
	inBubble(t, fetcherOf(files), func(t *testing.T, b *bubble) {
		for range 3 {
			if _, err := b.take(chart); !errors.Is(err, condition.ErrObserving) {
				t.Fatalf("the first Take must return ErrObserving while the fetch runs, got %v", err)
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got, err := b.take(chart); err != nil || got == nil || b.wakes.Load() != 1 {
			t.Errorf("Take returned the source %v and the error %v after %d calls of wake, want a source after 1 call", got, err, b.wakes.Load())
		}
		if len(b.fetches) != 0 {
			t.Error("the fetched source is still in memory after a pass has taken the source")
		}
	})
}

func TestASourceAtHandIsNotFetched(t *testing.T) {
	f := fetcherOf()
	f.kept = files
	inBubble(t, f, func(t *testing.T, b *bubble) {
		if got, err := b.take(chart); err != nil || got == nil {
			t.Errorf("Take did not return the fetched source: %v, %v", got, err)
		}
	})
}

func TestATransientFailureIsRepeatedAfterADelayThatDoubles(t *testing.T) {
	retry := func(message string) error { return &condition.Retry{Cause: errors.New(message)} }
	inBubble(t, fetcherOf(retry("broken pipe"), retry("no route"), files), func(t *testing.T, b *bubble) {
		expect := func(message string, after time.Duration) {
			t.Helper()
			synctest.Wait()
			_, err := b.take(chart)
			p := condition.Of(err)
			if p == nil || p.Reason != metav1alpha1.ReasonRetrying || p.Message != message || p.RetryAfter != after {
				t.Errorf("Take returned the wrong error for a failed fetch: %+v", p)
			}
		}
		_, _ = b.take(chart)
		time.Sleep(time.Second)
		expect("fetch the source: broken pipe", time.Second)
		time.Sleep(999 * time.Millisecond)
		expect("fetch the source: broken pipe", time.Millisecond)
		time.Sleep(time.Millisecond)
		expect("fetch the source: broken pipe", maxFetch) // The second attempt is running.
		time.Sleep(time.Second)
		expect("fetch the source: no route", 2*time.Second)
		time.Sleep(2 * time.Second)
		_, _ = b.take(chart)
		time.Sleep(time.Second)
		synctest.Wait()
		if got, err := b.take(chart); err != nil || got == nil {
			t.Errorf("Take did not return the fetched source: %v, %v", got, err)
		}
	})
}

func TestAPermanentFailureIsTerminal(t *testing.T) {
	for name, answer := range map[string]any{
		"fetch the source: not found":                                          error(errors.New("not found")),
		"fetch the source: the fetcher panicked: oh":                           "oh",
		"fetch the source: the fetcher returned neither a source nor an error": nil,
	} {
		inBubble(t, fetcherOf(answer), func(t *testing.T, b *bubble) {
			_, _ = b.take(chart)
			time.Sleep(time.Second)
			synctest.Wait()
			_, err := b.take(chart)
			p := condition.Of(err)
			if p.Reason != metav1alpha1.ReasonFetchFailed || !p.Terminal || p.Message != name || b.wakes.Load() != 1 {
				t.Errorf("Take returned the failure %+v after %d calls of wake", p, b.wakes.Load())
			}
		})
	}
}

func TestAnotherSourceEndsTheFetchOfTheFormerOne(t *testing.T) {
	f := fetcherOf(files)
	inBubble(t, f, func(t *testing.T, b *bubble) {
		_, _ = b.take(chart)
		synctest.Wait()
		other := metav1alpha1.SourceReference{URL: chart.URL, SHA256: "b"}
		_, _ = b.take(other)
		time.Sleep(time.Second)
		synctest.Wait()
		if f.ended.Load() != 1 || b.wakes.Load() != 1 {
			t.Errorf("%d fetches ended early, and wake was called %d times; want 1 and 1", f.ended.Load(), b.wakes.Load())
		}
		if _, err := b.take(other); err != nil {
			t.Error(err)
		}
		_, _ = b.take(chart)
		synctest.Wait()
		b.Forget(web)
		synctest.Wait()
		if f.ended.Load() != 2 || b.wakes.Load() != 1 {
			t.Errorf("%d fetches ended early, and wake was called %d times; want 2 and 1", f.ended.Load(), b.wakes.Load())
		}
	})
}

func TestConcurrentFetchesAreBounded(t *testing.T) {
	answers := make([]any, 3*fetchers)
	for i := range answers {
		answers[i] = files
	}
	f := fetcherOf(answers...)
	inBubble(t, f, func(t *testing.T, b *bubble) {
		for i := range answers {
			_, _ = b.Take(types.NamespacedName{Name: string(rune('a' + i))}, chart, func() { b.wakes.Add(1) })
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if int(b.wakes.Load()) != len(answers) || f.most.Load() != fetchers {
			t.Errorf("wake was called %d times, and %d fetches ran at a time", b.wakes.Load(), f.most.Load())
		}
	})
}
