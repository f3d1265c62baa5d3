package observe

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// FollowOptions are the arguments of Follow.
type FollowOptions struct {
	// Name names the watch in logs.
	Name string
	// Reader lists and watches. Mapper is reset after a response 404, if it can be reset.
	Reader Reader
	Mapper meta.RESTMapper
	// GVK is the type. Namespace is empty for all namespaces. Selector is a label selector.
	GVK                 schema.GroupVersionKind
	Namespace, Selector string
	// MetadataOnly watches metav1.PartialObjectMetadata instead of whole objects.
	MetadataOnly bool
	// Store receives the objects.
	Store cache.ReflectorStore
	// Opened is called when a watch was opened.
	Opened func()
	// Failed is called when a list or a watch failed. If definite is set, the API server refused the request.
	Failed func(message string, definite bool)
}

// Follow lists and watches objects of a type until ctx ends, and passes them to a store. After a failure it tries again,
// with pauses of up to a minute.
func Follow(ctx context.Context, o FollowOptions) {
	from := sources{self: o.Reader, mapper: o.Mapper}
	resource := WatchedResource{Type: o.GVK.GroupKind(), Namespace: o.Namespace}
	reflectorLoop{
		source: func() (*cache.ListWatch, error) {
			return from.listWatch(Reader{}, resource, o.GVK.Version, o.Selector, o.MetadataOnly)
		},
		mapper: o.Mapper, store: o.Store, listener: followListener{o}, name: o.Name, reader: o.Reader,
	}.run(ctx)
}

// followListener implements loopListener.
type followListener struct{ options FollowOptions }

func (l followListener) watchOpened() { l.options.Opened() }

func (l followListener) listFailed(f watchFailure) { l.options.Failed(f.message, f.definite) }
