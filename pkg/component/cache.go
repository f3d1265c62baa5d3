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
// WatchNamespaces. If a namespace, or the right to watch it, does not exist when the operator starts, the namespace
// counts as empty until it can be watched, so that it does not delay the others. The caller may set other fields of
// the result.
func (o Options) Cache() cache.Options {
	if o.WatchScope != WatchScopeNamespaces {
		return cache.Options{}
	}
	namespaces := make(map[string]cache.Config, len(o.WatchNamespaces))
	for _, namespace := range o.WatchNamespaces {
		namespaces[namespace] = cache.Config{}
	}
	return cache.Options{DefaultNamespaces: namespaces, NewInformer: newToleratingInformer}
}

// newToleratingInformer returns an informer that starts empty if its list is forbidden.
func newToleratingInformer(
	source toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	return toolscache.NewSharedIndexInformer(toleratingSource(source), example, resync, indexers)
}

// toleratingSource returns an empty list if a list is forbidden, until a list or a watch has succeeded. After that a
// forbidden list is an error, so that known objects do not count as deleted when a right is revoked. The watch that the
// informer starts after the empty list fails too, so the informer lists again until it is allowed.
func toleratingSource(source toolscache.ListerWatcher) *toolscache.ListWatch {
	from, listed := toolscache.ToListerWatcherWithContext(source), false
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
