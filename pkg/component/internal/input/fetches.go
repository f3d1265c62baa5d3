package input

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/authorcode"
	"github.com/fairlead-io/fairlead/internal/backoff"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
)

// Fetcher fetches sources.
type Fetcher interface {
	// Fetch fetches a source. It may block for a long time. It must be safe for concurrent use.
	Fetch(ctx context.Context, ref metav1alpha1.SourceReference) (fs.FS, error)
	// Fetched returns a source if the source is in a local cache. It must not send a request, because it is called by a
	// worker of the controller.
	Fetched(ctx context.Context, ref metav1alpha1.SourceReference) (files fs.FS, found bool)
}

const (
	// MaxFetches is the number of fetches that run at the same time. Fetches from a server that does not respond run until
	// their timeout. Meanwhile, the other slots are free for other sources.
	MaxFetches = 16
	// maxFetchesEach is the number of fetches for the components of one namespace that run at the same time, so that slow
	// servers of one tenant leave slots to others.
	maxFetchesEach = MaxFetches / 2
	// MaxFetch is the timeout of one attempt. It does not include the wait for a slot.
	MaxFetch = 10 * time.Minute
)

// fetchRetries are the delays before a failed attempt is repeated. A pass before the end of this delay does not start
// another attempt.
var fetchRetries = backoff.Backoff{First: time.Second, Last: time.Minute}

// Fetches fetches the sources of components in goroutines of its own, so that no fetch occupies a worker of the
// controller.
type Fetches struct {
	ctx     context.Context
	fetcher Fetcher
	clock   clock.PassiveClock
	budget  *budget.Budget
	// slots limits the attempts that run at the same time. A slot has the namespace and the running number of its attempt.
	slots *target.Turns

	mu      sync.Mutex
	fetches map[types.NamespacedName]*fetch
	// attempts is the number of attempts so far. granted has a channel for each running attempt, which is closed when an
	// attempt that waited gets a slot.
	attempts int
	granted  map[types.NamespacedName]chan struct{}
}

// fetch is the state of the fetch of a component's source. It keeps the result for the next pass over the component.
type fetch struct {
	ref     metav1alpha1.SourceReference
	stop    context.CancelFunc
	running bool
	files   fs.FS
	// lease holds the memory of the fetch and of its result.
	lease *budget.Lease
	// err is the error of the last attempt. It remains set while the next attempt is running.
	err     error
	delay   time.Duration
	retryAt time.Time
}

// NewFetches returns Fetches. All fetches end with ctx. Fetched sources count towards the budget.
func NewFetches(ctx context.Context, fetcher Fetcher, c clock.PassiveClock, b *budget.Budget) *Fetches {
	s := &Fetches{
		ctx: ctx, fetcher: fetcher, clock: c, budget: b,
		fetches: map[types.NamespacedName]*fetch{}, granted: map[types.NamespacedName]chan struct{}{},
	}
	s.slots = target.NewTurns(MaxFetches, maxFetchesEach, func(attempt types.NamespacedName) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if granted, waits := s.granted[attempt]; waits {
			close(granted)
		}
	})
	return s
}

// Take returns the source of a component. If the source is not in the fetcher's cache, Take starts to fetch it, and
// wake is called at the end of the fetch. Until then Take returns passerror.ErrObserving, or the error of the last
// attempt. The memory of the source belongs to the lease of ctx from then on.
func (s *Fetches) Take(
	ctx context.Context, name types.NamespacedName, ref metav1alpha1.SourceReference, wake func(),
) (fs.FS, error) {
	if !s.knows(name, ref) {
		s.Forget(name)
		if files, atHand := s.fetcher.Fetched(ctx, ref); atHand {
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
		f.lease.Hand(ctx)
		return f.files, nil
	case !f.running && !s.clock.Now().Before(f.retryAt):
		s.start(name, f, wake)
	}
	return nil, f.failure(s.clock.Now())
}

// knows reports whether a source is being fetched for a component. The result is still correct when the caller uses it,
// because a component has only one pass at a time.
func (s *Fetches) knows(name types.NamespacedName, ref metav1alpha1.SourceReference) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, found := s.fetches[name]
	return found && f.ref == ref
}

// Forget ends the fetch for a component.
func (s *Fetches) Forget(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, found := s.fetches[name]; found {
		f.stop()
		delete(s.fetches, name)
		if !f.running {
			f.lease.End()
		}
	}
}

// IsReady reports whether a fetched source is waiting for the next pass over its component.
func (s *Fetches) IsReady(name types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, found := s.fetches[name]
	return found && f.files != nil
}

// start begins an attempt. The caller holds the lock.
func (s *Fetches) start(name types.NamespacedName, f *fetch, wake func()) {
	ctx, stop := context.WithCancel(s.ctx)
	ctx, f.lease = s.budget.Begin(ctx, name, wake)
	f.stop, f.running = stop, true
	go func() {
		defer stop()
		files, err := s.fetch(ctx, name.Namespace, f.ref)
		if s.finish(name, f, files, err) {
			wake()
		}
	}()
}

// finish stores the result of an attempt, and reports whether a pass has to take it. If the attempt lacked memory, the
// component is woken when the memory is available.
func (s *Fetches) finish(name types.NamespacedName, f *fetch, files fs.FS, err error) (wake bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.running = false
	if s.fetches[name] != f || s.ctx.Err() != nil {
		f.lease.End()
		return false
	}
	if err != nil && f.lease.Waits() {
		delete(s.fetches, name)
		f.lease.End()
		return false
	}
	if err != nil {
		f.lease.End()
	}
	f.files, f.err = files, err
	f.delay = fetchRetries.Next(f.delay)
	f.retryAt = s.clock.Now().Add(f.delay)
	return true
}

// awaitSlot waits for a slot for an attempt in a namespace. The caller calls release afterwards, also after an error.
func (s *Fetches) awaitSlot(ctx context.Context, namespace string) (release func(), err error) {
	granted := make(chan struct{})
	s.mu.Lock()
	s.attempts++
	attempt := types.NamespacedName{Namespace: namespace, Name: strconv.Itoa(s.attempts)}
	s.granted[attempt] = granted
	s.mu.Unlock()
	release = func() {
		s.mu.Lock()
		delete(s.granted, attempt)
		s.mu.Unlock()
		s.slots.Release(attempt)
	}
	if s.slots.Take(attempt) {
		return release, nil
	}
	select {
	case <-granted:
		return release, nil
	case <-ctx.Done():
		return release, ctx.Err()
	}
}

// fetch waits for a slot and calls the fetcher. A panic of the fetcher is returned as an error.
func (s *Fetches) fetch(
	ctx context.Context, namespace string, ref metav1alpha1.SourceReference,
) (files fs.FS, err error) {
	release, err := s.awaitSlot(ctx, namespace)
	defer release()
	if err != nil {
		return nil, &passerror.Retry{Cause: err}
	}
	ctx, stop := context.WithTimeout(ctx, MaxFetch)
	defer stop()
	files, err = authorcode.Call("the fetcher", func() (fs.FS, error) { return s.fetcher.Fetch(ctx, ref) })
	if err == nil && files == nil {
		err = errors.New("the fetcher returned neither a source nor an error")
	}
	return files, err
}

// failure returns the error for a source that has not been fetched yet: the error of the last attempt, or
// passerror.ErrObserving.
func (f *fetch) failure(now time.Time) error {
	if f.err == nil {
		return passerror.ErrObserving
	}
	p := passerror.FromAuthor(fmt.Errorf("fetch the source: %w", f.err), metav1alpha1.ReasonFetchFailed, true)
	switch {
	case p.Terminal:
	case f.running:
		p.RetryAfter = MaxFetch
	default:
		p.RetryAfter = max(p.RetryAfter, f.retryAt.Sub(now))
	}
	return p
}
