package observe

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// reflectorLoop lists and watches objects and passes them to a store. It repeats this until its context ends.
type reflectorLoop struct {
	// requests returns the list and watch requests. It is called before every list, because the API server may have begun
	// to serve the type, or may serve another version.
	requests func() (*cache.ListWatch, error)
	// mapper reads discovery again, if it is able to, after a list or watch request that the API server answered with 404.
	mapper   meta.RESTMapper
	store    cache.ReflectorStore
	listener loopListener
	// retry ends the pause after a failure, but not before the minimum retry delay.
	retry <-chan struct{}
	// refused has the pauses after requests that were refused because of a missing right. If it has none, these pauses
	// are those after other failures.
	refused wait.Backoff
	name    string
	// reader is the identity that lists and watches.
	reader Reader
}

// loopListener receives the watch events of a reflectorLoop.
type loopListener interface {
	// watchOpened is called when a watch was opened.
	watchOpened()
	// listFailed is called when a list or watch failed.
	listFailed(watchFailure)
}

// progress is the state of a reflectorLoop. Objects are known only if the list has succeeded and the watch is open. If
// the list were enough, the objects of a type that may be listed but not watched would become known and unknown in
// turn, and each change would enqueue the components that use the watch.
type progress struct{ listed, watching bool }

func (p progress) synced() bool { return p.listed && p.watching }

// noteFailure updates the progress after a failed list or watch. If the API server refused the request, the objects
// are no longer known. After any other failure, such as a network failure, listed objects remain known, even if no
// watch is open, because the loop lists them again after the pause.
func (p *progress) noteFailure(f watchFailure) {
	if f.definite || !p.listed {
		*p = progress{}
		return
	}
	p.watching = true
}

// watchFailure is the reason why a list or watch failed.
type watchFailure struct {
	reason  plan.WaitReason
	message string
	// definite is set if the API server refused the request. It is not set after other failures, such as network failures.
	definite bool
}

// minRetryDelay returns the minimum time between a failure and the next attempt that a retry signal can cause. Every
// pass sends a signal, and must not cause a request each time. The time is short for a type that is not served, because
// the same pass may create the definition of the type. The time is longer for a missing right, because a person has to
// grant the right.
func (f watchFailure) minRetryDelay() time.Duration {
	if f.reason == plan.WaitUnwatched {
		return 5 * time.Second
	}
	return time.Second
}

// run lists and watches until ctx ends. The pause after a failure grows from 250 ms to a minute.
func (l reflectorLoop) run(ctx context.Context) {
	backoff, refused := newBackoff(), l.refused
	for {
		var failure watchFailure
		err := l.listAndWatch(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			backoff, refused = newBackoff(), l.refused
		} else {
			failure = l.classify(err)
			l.listener.listFailed(failure)
			l.resetMapper(err)
		}
		next := &backoff
		if failure.reason == plan.WaitUnwatched && refused.Duration > 0 {
			next = &refused
		}
		signalled := l.pause(ctx, next.Step(), failure.minRetryDelay())
		if signalled && failure.reason == plan.WaitNotServed {
			// The signal may mean that a definition was established. Discovery can show its type a moment later, so the pauses
			// are short again.
			backoff = newBackoff()
		}
	}
}

// pause waits for a duration. A retry signal ends the pause, but not before the minimum time.
func (l reflectorLoop) pause(ctx context.Context, duration, minimum time.Duration) (signalled bool) {
	end, earliest := time.NewTimer(duration), time.NewTimer(min(duration, minimum))
	defer end.Stop()
	defer earliest.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-earliest.C:
	}
	select {
	case <-ctx.Done():
	case <-end.C:
	case <-l.retry:
		return true
	}
	return false
}

func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 30, Cap: time.Minute}
}

func (l reflectorLoop) listAndWatch(ctx context.Context) error {
	requests, err := l.requests()
	if err != nil {
		return err
	}
	open := requests.WatchFuncWithContext
	requests.WatchFuncWithContext = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		w, err := open(ctx, options)
		if err == nil {
			l.listener.watchOpened()
		}
		return w, err
	}
	options := cache.ReflectorOptions{Name: l.name, TypeDescription: l.name}
	return cache.NewReflectorWithOptions(requests, nil, l.store, options).ListAndWatchWithContext(ctx)
}

// resetMapper makes the mapper read discovery again after a 404, because the API server may no longer serve the
// version, or the type may have another definition.
func (l reflectorLoop) resetMapper(err error) {
	if m, ok := l.mapper.(meta.ResettableRESTMapper); ok && apierrors.IsNotFound(err) {
		m.Reset()
	}
}

func (l reflectorLoop) classify(err error) watchFailure {
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return watchFailure{plan.WaitNotServed, "the API server does not serve its type", true}
	case apierrors.IsMethodNotSupported(err):
		const message = "its type cannot be listed, so it cannot be a dependent; remove it from the manifests"
		return watchFailure{plan.WaitNotListable, message, true}
	case apierrors.IsUnauthorized(err):
		message := fmt.Sprintf("its type cannot be watched: %v; renew the credentials", err)
		return watchFailure{plan.WaitUnauthorized, message, true}
	case apierrors.IsForbidden(err):
		return watchFailure{plan.WaitUnwatched, fmt.Sprintf("%v; %s", err, l.reader.advice(err)), true}
	}
	return watchFailure{plan.WaitListFailed, fmt.Sprintf("its type cannot be listed: %v", err), false}
}
