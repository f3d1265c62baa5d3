package component

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// sweepBackoff is how often, and how soon again, Secrets are looked at when that fails.
var sweepBackoff = wait.Backoff{Duration: time.Second, Factor: 2, Steps: 8}

// sweepPause is how long Secrets that come or change are collected before they are looked at.
const sweepPause = time.Second

// sweep lets go of what belongs to components that are gone: that went while no operator ran, or that this process knows nothing of for another
// reason. It costs a list and a watch on the Secrets that we hold, by label, and nothing more while all of them belong to somebody.
func (r *Reconciler[T]) sweep(ctx context.Context) {
	logger := log.FromContext(ctx)
	found := newSightings(func(cause string) {
		logger.Info("does not look for Secrets that components left behind, which went while no operator ran", "cause", cause)
	})
	observe.FollowMarked(ctx, r.local.metadata, secretResource, r.name+"/"+labelHeld, found)
	for {
		secrets := found.take(ctx)
		if ctx.Err() != nil {
			return
		}
		var last error
		err := wait.ExponentialBackoffWithContext(ctx, sweepBackoff, func(ctx context.Context) (bool, error) {
			last = r.sweepThese(ctx, secrets)
			return last == nil || apierrors.IsForbidden(last), nil
		})
		if ctx.Err() == nil && (err != nil || last != nil) {
			logger.Info("could not tell whether the components of Secrets exist", "cause", fmt.Sprint(last))
		}
	}
}

// sightings collects Secrets until somebody looks at them.
type sightings struct {
	refused func(message string)

	mu    sync.Mutex
	seen  map[types.NamespacedName]*metav1.PartialObjectMetadata
	there chan struct{}
}

func newSightings(refused func(message string)) *sightings {
	return &sightings{refused: refused, seen: map[types.NamespacedName]*metav1.PartialObjectMetadata{}, there: make(chan struct{}, 1)}
}

// See implements observe.Marks.
func (s *sightings) See(secrets ...*metav1.PartialObjectMetadata) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range secrets {
		s.seen[client.ObjectKeyFromObject(secret)] = secret
	}
	select {
	case s.there <- struct{}{}:
	default:
	}
}

// Gone implements observe.Marks. Who lets a Secret go in order need not be asked after.
func (s *sightings) Gone(secret *metav1.PartialObjectMetadata) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, client.ObjectKeyFromObject(secret))
}

// Refused implements observe.Marks.
func (s *sightings) Refused(message string) { s.refused(message) }

// take returns what was collected, when there is something, and a while after that. It returns nil when ctx ends.
func (s *sightings) take(ctx context.Context) []*metav1.PartialObjectMetadata {
	select {
	case <-ctx.Done():
		return nil
	case <-s.there:
	}
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(sweepPause):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	secrets := make([]*metav1.PartialObjectMetadata, 0, len(s.seen))
	for _, secret := range s.seen {
		secrets = append(secrets, secret)
	}
	clear(s.seen)
	return secrets
}

// sweepThese looks at Secrets that were read before the components: whose Secret is there, and who is not there after that, is gone. The cache
// may be older than the Secrets, or bounded to some components, so the API server is asked of those whom it does not know.
func (r *Reconciler[T]) sweepThese(ctx context.Context, secrets []*metav1.PartialObjectMetadata) error {
	cached, err := r.cachedOwners(ctx)
	if err != nil {
		return err
	}
	suspicious := slices.DeleteFunc(slices.Clone(secrets), func(secret *metav1.PartialObjectMetadata) bool { return r.belongsTo(secret, cached) })
	if len(suspicious) == 0 {
		return nil
	}
	cluster, err := r.clusterID(ctx)
	if err != nil {
		return err
	}
	living := metav1.PartialObjectMetadataList{}
	living.SetGroupVersionKind(r.gvk.GroupVersion().WithKind(r.gvk.Kind + "List"))
	if err := r.reader.List(ctx, &living); err != nil {
		return err
	}
	owners := map[string]bool{}
	for i := range living.Items {
		owners[r.ownerIn(cluster, client.ObjectKeyFromObject(&living.Items[i])).ID()] = true
	}
	if err := r.sweepRecords(ctx, suspicious, owners, r.ownerIn(cluster, types.NamespacedName{})); err != nil {
		return err
	}
	return r.sweepHolds(ctx, suspicious, owners)
}

// cachedOwners returns the owner ids of the components in the cache; none where a list of them has no Go type.
func (r *Reconciler[T]) cachedOwners(ctx context.Context) (map[string]bool, error) {
	obj, err := r.client.Scheme().New(r.gvk.GroupVersion().WithKind(r.gvk.Kind + "List"))
	list, ok := obj.(client.ObjectList)
	if err != nil || !ok {
		return nil, nil
	}
	if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	owners := map[string]bool{}
	return owners, meta.EachListItem(list, func(item runtime.Object) error {
		component, ok := item.(T)
		if !ok {
			return nil
		}
		owner, err := r.owner(ctx, component)
		owners[owner.ID()] = true
		return err
	})
}

// belongsTo says that all who hold a Secret are among the owners.
func (r *Reconciler[T]) belongsTo(secret *metav1.PartialObjectMetadata, owners map[string]bool) bool {
	if record, ok := secret.Labels[r.name+"/"+labelRecord]; ok {
		return owners[record]
	}
	return !slices.ContainsFunc(r.holders(secret), func(f string) bool { return !owners[strings.TrimPrefix(f, r.name+"/")] })
}

// sweepRecords drops the records whose component is none of the owners. Of another cluster, which a backup brought along, or of
// another kind nothing is known.
func (r *Reconciler[T]) sweepRecords(ctx context.Context, secrets []*metav1.PartialObjectMetadata, owners map[string]bool, kin manifests.Owner) error {
	for _, secret := range secrets {
		owner, isRecord := secret.Labels[r.name+"/"+labelRecord]
		known := strings.HasPrefix(secret.Annotations[r.name+"/"+labelRecord], strings.TrimSuffix(kin.String(), "/"))
		if !isRecord || !known || owners[owner] {
			continue
		}
		if err := r.dropSecret(ctx, secret); err != nil {
			return err
		}
	}
	return nil
}

// sweepHolds takes the finalizers of components that are none of the owners off Secrets with kubeconfigs.
func (r *Reconciler[T]) sweepHolds(ctx context.Context, secrets []*metav1.PartialObjectMetadata, owners map[string]bool) error {
	for _, secret := range secrets {
		left := slices.DeleteFunc(r.holders(secret), func(f string) bool { return owners[strings.TrimPrefix(f, r.name+"/")] })
		for _, finalizer := range left {
			if err := r.changeHold(ctx, types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name}, finalizer, false); err != nil {
				return err
			}
		}
	}
	return nil
}
