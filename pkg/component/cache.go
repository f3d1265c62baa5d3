package component

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// Cache returns options for the manager's cache. Under WatchScopeNamespaces the cache watches only the namespaces in
// WatchNamespaces. If the operator may not list a namespace when it starts, for example because the namespace does not
// exist yet, the cache treats the namespace as empty until the list is permitted. So a namespace that cannot be listed
// does not delay the start of the cache. With IdleInventory, DefaultTransform moves the inventories of components. The
// caller may set other fields of the result.
func (o Options) Cache() cache.Options {
	result := o.watchedNamespaces()
	if o.Limits.IdleInventory != nil {
		result.DefaultTransform = o.Limits.IdleInventory.Transform
	}
	return result
}

func (o Options) watchedNamespaces() cache.Options {
	if o.Watching.Scope != WatchScopeNamespaces {
		return cache.Options{}
	}
	namespaces := make(map[string]cache.Config, len(o.Watching.Namespaces))
	for _, namespace := range o.Watching.Namespaces {
		namespaces[namespace] = cache.Config{}
	}
	return cache.Options{DefaultNamespaces: namespaces, NewInformer: newToleratingInformer}
}

// newToleratingInformer returns an informer that starts with an empty list if its list request is forbidden.
func newToleratingInformer(
	listWatch toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	return toolscache.NewSharedIndexInformer(toleratingListWatch(listWatch), example, resync, indexers)
}

// toleratingListWatch wraps a ListerWatcher: a forbidden list request returns an empty list instead of an error, until
// a list or a watch has succeeded. After the first success, a forbidden list request is an error. An empty list would
// make the informer report all known objects as deleted when the right to list them is revoked. The watch that the
// informer starts after the empty list is forbidden too, so the informer repeats the list request until it is
// permitted.
func toleratingListWatch(listWatch toolscache.ListerWatcher) *toolscache.ListWatch {
	from, listed := toolscache.ToListerWatcherWithContext(listWatch), false
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := from.ListWithContext(ctx, options)
			if apierrors.IsForbidden(err) && !listed {
				return &metav1.List{}, nil
			}
			listed = listed || err == nil
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			opened, err := from.WatchWithContext(ctx, options)
			listed = listed || err == nil
			return opened, err
		},
	}
}
