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

// Cache returns the options of the manager's cache that fit these: under WatchScopeNamespaces it watches the namespaces of WatchNamespaces
// alone. A namespace that may not be watched when the operator starts, because it or the right in it does not exist, counts as one without
// components until it may: it must not keep all others waiting. An author may set the other fields of what is returned.
func (o Options) Cache() cache.Options {
	if o.WatchScope != WatchScopeNamespaces {
		return cache.Options{}
	}
	namespaces := make(map[string]cache.Config, len(o.WatchNamespaces))
	for _, namespace := range o.WatchNamespaces {
		namespaces[namespace] = cache.Config{}
	}
	return cache.Options{DefaultNamespaces: namespaces, NewInformer: newPatientInformer}
}

// newPatientInformer returns an informer that begins empty where listing is forbidden.
func newPatientInformer(
	source toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	return toolscache.NewSharedIndexInformer(patientSource(source), example, resync, indexers)
}

// patientSource answers lists that are forbidden as if there were nothing, until one has succeeded: what was seen once is not taken for gone
// because a right is. Watching fails then, and is tried again with a list.
func patientSource(source toolscache.ListerWatcher) *toolscache.ListWatch {
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
