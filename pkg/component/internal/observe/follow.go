package observe

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// FollowOptions are the arguments of Follow.
type FollowOptions struct {
	// Name names the watch in logs.
	Name string
	// Reader lists and watches. Mapper is reset after a response 404, if it can be reset.
	Reader Reader
	Mapper meta.RESTMapper
	// GVK is the type. Namespace is empty for all namespaces. Selector is a label selector, and Fields a field selector.
	GVK                         schema.GroupVersionKind
	Namespace, Selector, Fields string
	// MetadataOnly watches metav1.PartialObjectMetadata instead of whole objects.
	MetadataOnly bool
	// Store receives the objects.
	Store cache.ReflectorStore
	// Opened is called when a watch was opened.
	Opened func()
	// Failed is called when a list or a watch failed. If definite is set, the API server refused the request.
	Failed func(message string, definite bool)
}

// Follow lists and watches objects of a type until ctx ends, and passes them to a store. After a failure it tries
// again, with pauses of up to a minute.
func Follow(ctx context.Context, o FollowOptions) {
	from := listWatches{self: o.Reader, mapper: o.Mapper}
	resource := WatchedResource{Type: o.GVK.GroupKind(), Namespace: o.Namespace}
	reflectorLoop{
		requests: func() (*cache.ListWatch, error) {
			requests, err := from.listWatch(Reader{}, resource, o.GVK.Version, o.Selector, o.MetadataOnly)
			if err != nil {
				return nil, err
			}
			return withFields(requests, o.Fields), nil
		},
		mapper: o.Mapper, store: o.Store, listener: followListener{o}, name: o.Name, reader: o.Reader,
	}.run(ctx)
}

// AwaitScope reports whether a type is namespaced. It asks until the API server serves the type, with the pauses of
// Follow. The result is not known if ctx ends before.
func AwaitScope(ctx context.Context, o FollowOptions) (isNamespaced, known bool) {
	l, backoff := reflectorLoop{mapper: o.Mapper, reader: o.Reader}, newBackoff()
	for ctx.Err() == nil {
		mapping, err := listWatches{mapper: o.Mapper}.mapping(o.GVK.GroupKind(), o.GVK.Version)
		if err == nil {
			return mapping.Scope.Name() == meta.RESTScopeNameNamespace, true
		}
		failure := l.classify(err)
		o.Failed(failure.message, failure.definite)
		l.pause(ctx, backoff.Step(), failure.minRetryDelay())
	}
	return false, false
}

// withFields adds a field selector to list and watch requests.
func withFields(requests *cache.ListWatch, selector string) *cache.ListWatch {
	list, open := requests.ListWithContextFunc, requests.WatchFuncWithContext
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selector
			return list(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return open(ctx, options)
		},
	}
}

// followListener implements loopListener.
type followListener struct{ options FollowOptions }

func (l followListener) watchOpened() { l.options.Opened() }

func (l followListener) listFailed(f watchFailure) { l.options.Failed(f.message, f.definite) }
