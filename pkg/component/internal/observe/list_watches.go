package observe

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-io/fairlead/pkg/component/internal/rights"
)

// Reader is the identity of a watch, with its clients. The zero Reader means the clients of the Observer or of the
// References.
type Reader struct {
	// Name is unique among readers. Its first line is the user name.
	Name     string
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
}

// advice returns a text that tells an administrator which rights to grant after a list or watch was refused.
func (v Reader) advice(refused error) string {
	if v.Name == "" {
		return "allow list and watch"
	}
	user, _, _ := strings.Cut(v.Name, "\n")
	return rights.Advice(refused.Error(), user,
		`allow that user get, list and watch, as in the roles that "fairlead rbac NAME --observe identity" prints`)
}

// listWatches make the list and watch requests of an Observer.
type listWatches struct {
	// self holds the clients that are used for the zero Reader.
	self   Reader
	mapper meta.RESTMapper
	verbs  func(schema.GroupVersionResource) ([]string, error)
}

// listWatch returns the requests for the objects of a resource, reduced to metadata if metadataOnly is set. If the
// preferred version is not served, another version is used.
func (s listWatches) listWatch(
	reader Reader, r WatchedResource, version, selector string, metadataOnly bool,
) (*cache.ListWatch, error) {
	mapping, err := s.mapping(r.Type, version)
	if err != nil {
		return nil, err
	}
	if r.Namespace != "" && mapping.Scope.Name() == meta.RESTScopeNameRoot {
		// The type was defined again as cluster-scoped. Its namespaced objects were deleted with the previous
		// definition, so the namespaced type is reported as not served.
		return nil, &meta.NoKindMatchError{
			GroupKind: r.Type, SearchedVersions: []string{mapping.GroupVersionKind.Version},
		}
	}
	if reader.Name == "" {
		reader = s.self
	}
	if metadataOnly {
		return listWatchMetadata(reader.Metadata.Resource(mapping.Resource).Namespace(r.Namespace), selector), nil
	}
	client := reader.Dynamic.Resource(mapping.Resource).Namespace(r.Namespace)
	list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.List(ctx, options)
	}
	return listWatch(list, client.Watch, selector), nil
}

// readable reports whether the API server supports the verb get for a type.
func (s listWatches) readable(gk schema.GroupKind, version string) bool {
	if s.verbs == nil {
		return false
	}
	mapping, err := s.mapping(gk, version)
	if err != nil {
		return false
	}
	verbs, err := s.verbs(mapping.Resource)
	return err == nil && slices.Contains(verbs, "get")
}

// mapping returns the resource of a type, in another version if the preferred version is not served.
func (s listWatches) mapping(gk schema.GroupKind, version string) (*meta.RESTMapping, error) {
	if version != "" {
		if m, err := s.mapper.RESTMapping(gk, version); err == nil {
			return m, nil
		}
	}
	return s.mapper.RESTMapping(gk)
}

// listWatchMetadata returns the requests for the metadata of objects.
func listWatchMetadata(client metadata.ResourceInterface, selector string) *cache.ListWatch {
	list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.List(ctx, options)
	}
	return listWatch(list, client.Watch, selector)
}

// listWatch adds a label selector to list and watch requests.
func listWatch(
	list func(context.Context, metav1.ListOptions) (runtime.Object, error),
	open func(context.Context, metav1.ListOptions) (watch.Interface, error),
	selector string,
) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector
			return list(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			return open(ctx, options)
		},
	}
}
