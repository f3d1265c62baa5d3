package observe

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// loop keeps a store in step with the API server until its context ends.
type loop struct {
	// source is asked before every attempt to list: the type may have come to be served in between, or under another version.
	source func() (*cache.ListWatch, error)
	// mapper is told to forget what it knows, if it can, when the API server does not know the path that source found.
	mapper meta.RESTMapper
	store  follower
	// kick ends the pause after a failure, though not at once; see listFailure.respite.
	kick <-chan struct{}
	name string
	// viewer is who lists and watches.
	viewer Viewer
}

// follower is the store that a loop keeps in step.
type follower interface {
	cache.ReflectorStore
	// watched is told that a watch is open.
	watched()
	// failed is told why an attempt failed.
	failed(listFailure)
}

// progress is how far a loop has come. A type is known once it was listed and its watch is open: one that may be listed, but not watched,
// would otherwise be known and unknown in turn, and wake its users each time.
type progress struct{ list, watch bool }

func (p progress) known() bool { return p.list && p.watch }

// fail enters a failure. A type that was listed is known through a lack of answers, and also where no watch is to be had: then it is
// listed again after each pause.
func (p *progress) fail(f listFailure) {
	if f.definite || !p.list {
		*p = progress{}
		return
	}
	p.watch = true
}

// listFailure says why a list failed.
type listFailure struct {
	reason  plan.WaitReason
	message string
	// definite says that it is the API server's answer, not the lack of one.
	definite bool
}

// respite is how long a kick has to wait after the failure. Passes kick as often as they run, and what is kicked most often is a type that
// a definition of the same pass is about to serve; permissions take longer to come.
func (f listFailure) respite() time.Duration {
	if f.reason == plan.WaitUnwatched {
		return 5 * time.Second
	}
	return time.Second
}

// run lists and watches. Failures are repeated after 250 ms at first, and after a minute at the most.
func (l loop) run(ctx context.Context) {
	backoff := newBackoff()
	for {
		var failure listFailure
		err := l.listAndWatch(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			backoff = newBackoff()
		} else {
			failure = l.classify(err)
			l.store.failed(failure)
			l.forget(err)
		}
		kicked := l.rest(ctx, backoff.Step(), failure.respite())
		if kicked && failure.reason == plan.WaitNotServed {
			// The definition may have been established a moment before discovery tells of it.
			backoff = newBackoff()
		}
	}
}

// rest waits for the pause to end, or for a kick, which counts only after the respite.
func (l loop) rest(ctx context.Context, pause, respite time.Duration) (kicked bool) {
	end, soonest := time.NewTimer(pause), time.NewTimer(min(pause, respite))
	defer end.Stop()
	defer soonest.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-soonest.C:
	}
	select {
	case <-ctx.Done():
	case <-end.C:
	case <-l.kick:
		return true
	}
	return false
}

func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 30, Cap: time.Minute}
}

func (l loop) listAndWatch(ctx context.Context) error {
	source, err := l.source()
	if err != nil {
		return err
	}
	open := source.WatchFuncWithContext
	source.WatchFuncWithContext = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		w, err := open(ctx, options)
		if err == nil {
			l.store.watched()
		}
		return w, err
	}
	return cache.NewReflectorWithOptions(source, nil, l.store, cache.ReflectorOptions{Name: l.name, TypeDescription: l.name}).
		ListAndWatchWithContext(ctx)
}

// forget makes the mapper ask again after a 404: a version may be served no more, or the definition of the type be another.
func (l loop) forget(err error) {
	if m, ok := l.mapper.(meta.ResettableRESTMapper); ok && apierrors.IsNotFound(err) {
		m.Reset()
	}
}

func (l loop) classify(err error) listFailure {
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return listFailure{plan.WaitNotServed, "the API server does not serve its type", true}
	case apierrors.IsMethodNotSupported(err):
		return listFailure{plan.WaitNotListable, "its type cannot be listed, so it cannot be a dependent; remove it from the manifests", true}
	case apierrors.IsUnauthorized(err):
		return listFailure{plan.WaitUnauthorized, fmt.Sprintf("its type cannot be watched: %v; renew the credentials", err), true}
	case apierrors.IsForbidden(err):
		return listFailure{plan.WaitUnwatched, fmt.Sprintf("%v; %s", err, l.viewer.advice(err)), true}
	}
	return listFailure{plan.WaitListFailed, fmt.Sprintf("its type cannot be listed: %v", err), false}
}

// source lists and watches the objects in a place, reduced to metadata where asked.
func (o *Observer) source(viewer Viewer, p Place, version, selector string, metadataOnly bool) (*cache.ListWatch, error) {
	mapping, err := o.mapping(p.Type, version)
	if err != nil {
		return nil, err
	}
	if p.Namespace != "" && mapping.Scope.Name() == meta.RESTScopeNameRoot {
		// The type was defined anew: what was in a namespace went with the former definition.
		return nil, &meta.NoKindMatchError{GroupKind: p.Type, SearchedVersions: []string{mapping.GroupVersionKind.Version}}
	}
	if viewer.Name == "" {
		viewer = o.self
	}
	if metadataOnly {
		return listWatch(viewer.Metadata.Resource(mapping.Resource).Namespace(p.Namespace), selector), nil
	}
	return listWatch(viewer.Dynamic.Resource(mapping.Resource).Namespace(p.Namespace), selector), nil
}

// lister is what the clients for whole objects and for metadata have in common.
type lister[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

func listWatch[L runtime.Object](from lister[L], selector string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector
			return from.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			return from.Watch(ctx, options)
		},
	}
}

// mapping finds the resource of a type, in another version where the preferred one is not served.
func (o *Observer) mapping(gk schema.GroupKind, version string) (*meta.RESTMapping, error) {
	if version != "" {
		if m, err := o.mapper.RESTMapping(gk, version); err == nil {
			return m, nil
		}
	}
	return o.mapper.RESTMapping(gk)
}
