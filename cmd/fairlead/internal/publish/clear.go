package publish

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
)

// clearPause is the time between two requests in which Clear lists the remaining sources.
const clearPause = 250 * time.Millisecond

// Clear deletes the source ConfigMaps whose only owner is a deleted component with this UID, and waits until they no
// longer exist. Garbage collection would also delete them, but up to half a minute later if types were deleted with the
// component. If the person may not delete ConfigMaps, Clear waits for garbage collection. If the person may not list
// ConfigMaps, Clear does nothing.
func Clear(ctx context.Context, c client.Client, target cluster.Target, uid types.UID) error {
	return wait.PollUntilContextCancel(ctx, clearPause, true, func(ctx context.Context) (bool, error) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
		ofSources := client.MatchingLabels(labels(target))
		err := c.List(ctx, list, client.InNamespace(target.Namespace), ofSources)
		if apierrors.IsForbidden(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		left := false
		for i := range list.Items {
			item := &list.Items[i]
			if len(item.OwnerReferences) != 1 || item.OwnerReferences[0].UID != uid {
				continue
			}
			left = true
			if item.DeletionTimestamp != nil {
				continue
			}
			err := c.Delete(ctx, item, client.Preconditions{UID: &item.UID, ResourceVersion: &item.ResourceVersion})
			if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) && !apierrors.IsForbidden(err) {
				return false, err
			}
		}
		return !left, nil
	})
}
