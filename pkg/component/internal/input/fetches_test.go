package input

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
)

// fetcher is a fake Fetcher. Each call takes a second and uses the next of the answers: an error or a source is
// returned, and a string causes a panic. A call for the source silent never ends.
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

func (f *fetcher) Fetch(ctx context.Context, ref metav1alpha1.SourceReference) (fs.FS, error) {
	f.most.Store(max(f.most.Load(), f.busy.Add(1)))
	defer f.busy.Add(-1)
	answer := time.After(time.Second)
	if ref == silent {
		answer = nil
	}
	select {
	case <-answer:
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

func (f *fetcher) Fetched(context.Context, metav1alpha1.SourceReference) (fs.FS, bool) {
	return f.kept, f.kept != nil
}

var (
	web   = types.NamespacedName{Namespace: "shop", Name: "web"}
	chart = metav1alpha1.SourceReference{URL: "https://example.com/a.tgz", SHA256: "a"}
	// silent is on a server that does not respond.
	silent = metav1alpha1.SourceReference{URL: "https://silent.example.com/a.tgz", SHA256: "a"}
	files  = fstest.MapFS{"a.yaml": &fstest.MapFile{}}
)

// bubble is a Fetches with a count of the calls of wake.
type bubble struct {
	*Fetches
	wakes atomic.Int32
}

// take calls Take for the component web.
func (b *bubble) take(ref metav1alpha1.SourceReference) (fs.FS, error) {
	return b.Take(context.Background(), web, ref, func() { b.wakes.Add(1) })
}

// inBubble runs a test with a fetcher in a synctest bubble, in which sleeping takes no time.
func inBubble(t *testing.T, f *fetcher, test func(t *testing.T, b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, &bubble{Fetches: NewFetches(t.Context(), f, clock.RealClock{}, nil)})
	})
}

func TestASourceIsFetchedBesideThePassAndWakesOnce(t *testing.T) {
	inBubble(t, fetcherOf(files), func(t *testing.T, b *bubble) {
		for range 3 {
			if _, err := b.take(chart); !errors.Is(err, passerror.ErrObserving) {
				t.Fatalf("the first Take must return ErrObserving while the fetch runs, got %v", err)
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got, err := b.take(chart); err != nil || got == nil || b.wakes.Load() != 1 {
			t.Errorf("Take returned the source %v and the error %v after %d calls of wake, want a source after 1 call", got, err,
				b.wakes.Load())
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
	retry := func(message string) error { return &passerror.Retry{Cause: errors.New(message)} }
	inBubble(t, fetcherOf(retry("broken pipe"), retry("no route"), files), func(t *testing.T, b *bubble) {
		expect := func(message string, after time.Duration) {
			t.Helper()
			synctest.Wait()
			_, err := b.take(chart)
			p := passerror.Of(err)
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
		expect("fetch the source: broken pipe", MaxFetch) // The second attempt is running.
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
			p := passerror.Of(err)
			if p.Reason != metav1alpha1.ReasonFetchFailed || !p.Terminal || p.Message != name || b.wakes.Load() != 1 {
				t.Errorf("Take returned the failure %+v after %d calls of wake", p, b.wakes.Load())
			}
		})
	}
}

func TestAnotherSourceEndsTheFetchOfThePreviousOne(t *testing.T) {
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
	answers := make([]any, 3*MaxFetches)
	for i := range answers {
		answers[i] = files
	}
	f := fetcherOf(answers...)
	inBubble(t, f, func(t *testing.T, b *bubble) {
		for i := range answers {
			name := types.NamespacedName{Namespace: fmt.Sprint("n-", i%3), Name: fmt.Sprint("c-", i)}
			_, _ = b.Take(context.Background(), name, chart, func() { b.wakes.Add(1) })
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if int(b.wakes.Load()) != len(answers) || f.most.Load() != MaxFetches {
			t.Errorf("wake was called %d times, and %d fetches ran at a time", b.wakes.Load(), f.most.Load())
		}
	})
}

func TestSlowServersOfANamespaceDoNotHoldUpTheSourcesOfOthers(t *testing.T) {
	f := fetcherOf(files)
	inBubble(t, f, func(t *testing.T, b *bubble) {
		hostile := func(i int) types.NamespacedName {
			return types.NamespacedName{Namespace: "hostile", Name: fmt.Sprint("c-", i)}
		}
		for i := range 3 * MaxFetches {
			_, _ = b.Take(context.Background(), hostile(i), silent, func() {})
		}
		synctest.Wait()
		_, _ = b.take(chart)
		time.Sleep(time.Second)
		synctest.Wait()
		if !b.IsReady(web) || f.most.Load() != maxFetchesEach+1 {
			t.Errorf("ready %t, and %d fetches ran at a time; want true and %d", b.IsReady(web), f.most.Load(), maxFetchesEach+1)
		}
		// A fetch that ends while it runs, and one that ends while it waits, leave nothing behind.
		for i := range 3 * MaxFetches {
			b.Forget(hostile(i))
		}
		synctest.Wait()
		if f.busy.Load() != 0 || len(b.granted) != 0 {
			t.Errorf("%d fetches run, and %d attempts are left", f.busy.Load(), len(b.granted))
		}
	})
}

// A source for which there is no memory is fetched again when the memory is available, and the pass that takes the
// source has its memory.
func TestASourceWaitsForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const mebibyte = 1 << 20
		line := budget.New(10*mebibyte, 1<<40)
		b := &bubble{Fetches: NewFetches(t.Context(), &reserving{bytes: 4 * mebibyte}, clock.RealClock{}, line)}
		busy, other := line.Begin(t.Context(), types.NamespacedName{Name: "other"}, func() {})
		if err := budget.Reserve(busy, 8*mebibyte); err != nil {
			t.Fatal(err)
		}
		pass := func() (fs.FS, *budget.Lease, error) {
			ctx, lease := line.Begin(t.Context(), web, func() { b.wakes.Add(1) })
			got, err := b.Take(ctx, web, chart, func() { b.wakes.Add(1) })
			return got, lease, err
		}
		_, lease, err := pass()
		lease.End()
		synctest.Wait()
		if !errors.Is(err, passerror.ErrObserving) || b.wakes.Load() != 0 || line.Usage().Waiting != 1 {
			t.Fatalf("got %v, %d wakes, %+v", err, b.wakes.Load(), line.Usage())
		}
		other.End()
		if b.wakes.Load() != 1 {
			t.Error("the component is not woken when the memory is available")
		}
		_, lease, _ = pass()
		lease.End()
		synctest.Wait()
		if !b.IsReady(web) || b.wakes.Load() != 2 || line.Usage().Reserved != 6*mebibyte {
			t.Errorf("ready %t, %d wakes, %+v", b.IsReady(web), b.wakes.Load(), line.Usage())
		}
		got, lease, err := pass()
		if err != nil || got == nil || line.Usage().Reserved != 6*mebibyte {
			t.Errorf("got %v, %v, %+v", got, err, line.Usage())
		}
		lease.End()
		_, lease, _ = pass()
		lease.End()
		synctest.Wait()
		b.Forget(web)
		if u := line.Usage(); u.Reserved != 0 || u.Waiting != 0 {
			t.Errorf("got %+v", u)
		}
	})
}

// reserving is a fetcher that reserves memory.
type reserving struct{ bytes int64 }

func (r *reserving) Fetch(ctx context.Context, _ metav1alpha1.SourceReference) (fs.FS, error) {
	return files, budget.Reserve(ctx, r.bytes)
}

func (r *reserving) Fetched(context.Context, metav1alpha1.SourceReference) (fs.FS, bool) {
	return nil, false
}
