package component

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
)

// Fetcher gets the sources of components that are SourceHolders; package source/fetch has one. It must be safe for concurrent use.
type Fetcher interface {
	// Fetch gets a source. It may take a while: it is called off the workers, a few calls at a time, and its context ends when nobody wants
	// the source any more. An error stalls the component with reason FetchFailed, unless it goes away by itself; see RetryAfter. It must
	// not tell credentials.
	Fetch(ctx context.Context, ref metav1alpha1.SourceReference) (fs.FS, error)
	// Fetched returns a source that is at hand. A worker calls it, so it must not wait.
	Fetched(ref metav1alpha1.SourceReference) (files fs.FS, found bool)
}

// errFetching says that a source is on its way, and that the component is woken when it is there.
var errFetching = errors.New("the source is being fetched")

const (
	// fetchers is how many sources are fetched at a time. A server that does not answer holds some of them up until its time is over.
	fetchers = 16
	// maxFetch ends an attempt of a fetcher that knows no end; waiting for a turn does not count.
	maxFetch = 10 * time.Minute
	// An attempt that failed is repeated after the first of these, then after twice as long each time, up to the second; whatever wakes the
	// component before does not repeat it.
	firstFetchRetry, lastFetchRetry = time.Second, time.Minute
)

// sources are what is fetched for components, off the workers.
type sources struct {
	ctx     context.Context
	fetcher Fetcher
	clock   clock.PassiveClock
	slots   chan struct{}

	mu      sync.Mutex
	fetches map[types.NamespacedName]*fetch
}

// fetch is how getting a source for a component goes. What came of it waits for the component's next pass.
type fetch struct {
	ref     metav1alpha1.SourceReference
	stop    context.CancelFunc
	running bool
	files   fs.FS
	// err is how the last attempt failed, also while there is another one.
	err     error
	delay   time.Duration
	retryAt time.Time
}

// newSources returns a store that fetches until ctx ends.
func newSources(ctx context.Context, fetcher Fetcher, c clock.PassiveClock) *sources {
	return &sources{
		ctx: ctx, fetcher: fetcher, clock: c,
		slots: make(chan struct{}, fetchers), fetches: map[types.NamespacedName]*fetch{},
	}
}

// take returns the source of a component. Where it is not at hand it is fetched, and wake is called when that ended. Until then the error is
// errFetching, or how the last attempt failed.
func (s *sources) take(name types.NamespacedName, ref metav1alpha1.SourceReference, wake func()) (fs.FS, error) {
	if !s.knows(name, ref) {
		s.forget(name)
		if files, atHand := s.fetcher.Fetched(ref); atHand {
			return files, nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, found := s.fetches[name]
	if !found {
		f = &fetch{ref: ref}
		s.fetches[name] = f
	}
	switch {
	case f.files != nil:
		delete(s.fetches, name)
		return f.files, nil
	case !f.running && !s.clock.Now().Before(f.retryAt):
		s.start(f, wake)
	}
	return nil, f.failure(s.clock.Now())
}

// knows says that a source is fetched for a component. A component has one pass at a time, so nobody else begins it meanwhile.
func (s *sources) knows(name types.NamespacedName, ref metav1alpha1.SourceReference) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, found := s.fetches[name]
	return found && f.ref == ref
}

// forget ends what is fetched for a component.
func (s *sources) forget(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, found := s.fetches[name]; found {
		f.stop()
		delete(s.fetches, name)
	}
}

// start begins an attempt. The lock is held.
func (s *sources) start(f *fetch, wake func()) {
	ctx, stop := context.WithCancel(s.ctx)
	f.stop, f.running = stop, true
	go func() {
		defer stop()
		files, err := s.fetch(ctx, f.ref)
		if ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		f.running, f.files, f.err = false, files, err
		f.delay = min(lastFetchRetry, max(firstFetchRetry, 2*f.delay))
		f.retryAt = s.clock.Now().Add(f.delay)
		s.mu.Unlock()
		wake()
	}()
}

// fetch waits for its turn, and keeps a fetcher that panics from taking the operator down.
func (s *sources) fetch(ctx context.Context, ref metav1alpha1.SourceReference) (files fs.FS, err error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, RetryAfter(ctx.Err(), 0)
	}
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the fetcher panicked: %v", cause)
		}
	}()
	ctx, stop := context.WithTimeout(ctx, maxFetch)
	defer stop()
	files, err = s.fetcher.Fetch(ctx, ref)
	if err == nil && files == nil {
		err = errors.New("the fetcher returned neither a source nor an error")
	}
	return files, err
}

// failure is why there is no source yet.
func (f *fetch) failure(now time.Time) error {
	if f.err == nil {
		return errFetching
	}
	p := condition.FromAuthor(fmt.Errorf("fetch the source: %w", f.err), metav1alpha1.ReasonFetchFailed, true)
	switch {
	case p.Terminal:
	case f.running:
		p.RetryAfter = maxFetch
	default:
		p.RetryAfter = max(p.RetryAfter, f.retryAt.Sub(now))
	}
	return p
}

// source returns what the generator renders, nil for a component that has no source of its own.
func (r *Reconciler[T]) source(component T, in inputs) (fs.FS, error) {
	if in.source == nil {
		return nil, nil
	}
	name := types.NamespacedName{Namespace: component.GetNamespace(), Name: component.GetName()}
	files, err := r.sources.take(name, *in.source, func() { r.wake(name) })
	if errors.Is(err, errFetching) && component.GetStatus().InputDigest != in.digest {
		return nil, &condition.Error{
			Reason: metav1alpha1.ReasonFetching, Message: "the source is being fetched from " + in.source.Location(), RetryAfter: maxFetch,
		}
	}
	return files, err
}

// forgetSource ends what is fetched for a component that needs it no more.
func (r *Reconciler[T]) forgetSource(name types.NamespacedName) {
	if r.sources != nil {
		r.sources.forget(name)
	}
}

// sourceDigest identifies the source; it is empty where there is none.
func (in inputs) sourceDigest() string {
	if in.source == nil {
		return ""
	}
	return in.source.SHA256
}

// sourceOf returns the source that a component names, nil without one.
func (r *Reconciler[T]) sourceOf(component T) (*metav1alpha1.SourceReference, error) {
	holder, ok := any(component).(SourceHolder)
	if !ok || holder.Source() == nil {
		return nil, nil
	}
	if r.sources == nil {
		return nil, condition.InvalidSpec(errors.New("this operator fetches no sources: it has no Options.Fetcher"))
	}
	ref := *holder.Source()
	if err := ref.Validate(); err != nil {
		return nil, condition.InvalidSpec(fmt.Errorf("source: %w", err))
	}
	return &ref, nil
}
