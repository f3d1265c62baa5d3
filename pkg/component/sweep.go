package component

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// sweepGrace is how long Secrets of nobody are left alone that came while this process runs: a backup may bring them back before their
// components.
const sweepGrace = time.Hour

// sweepPause is how long Secrets that come or change are collected before they are looked at.
const sweepPause = time.Second

// sweep lets go of what belongs to components that are gone: that went while no operator ran, or that this process knows nothing of for another
// reason. It costs a list and a watch on the Secrets that we hold, by label, and nothing more while all of them belong to somebody.
func (r *Reconciler[T]) sweep(ctx context.Context) {
	logger := log.FromContext(ctx)
	found := newSightings(func(cause string) {
		logger.Info("does not look for Secrets that components left behind, which went while no operator ran", "cause", cause)
	})
	for _, namespace := range r.sweptNamespaces() {
		observe.FollowMarked(ctx, r.local.metadata, secretResource, namespace, r.name+"/"+labelHeld, found)
	}
	for {
		secrets, young := r.byAge(found.take(ctx))
		if ctx.Err() != nil {
			return
		}
		if len(young) > 0 {
			time.AfterFunc(sweepGrace, func() { found.See(young...) })
		}
		var last error
		err := wait.ExponentialBackoffWithContext(ctx, sweepBackoff, func(ctx context.Context) (bool, error) {
			last = r.sweepThese(ctx, secrets)
			return last == nil || apierrors.IsForbidden(last), nil
		})
		if ctx.Err() == nil && (err != nil || last != nil) {
			logger.Info("could not tell whether the components of Secrets exist", "cause", fmt.Sprint(last))
		}
		if ctx.Err() == nil && err != nil {
			// It is not over: the next try comes with the same ones.
			found.See(secrets...)
		}
	}
}

// byAge tells those that may be let go of by now from those that came since this process started, and that nobody deletes, not long ago.
func (r *Reconciler[T]) byAge(secrets []*metav1.PartialObjectMetadata) (settled, young []*metav1.PartialObjectMetadata) {
	for _, secret := range secrets {
		came := secret.CreationTimestamp.Time
		if secret.DeletionTimestamp == nil && came.After(r.local.started) && r.clock.Since(came) < sweepGrace {
			young = append(young, secret)
			continue
		}
		settled = append(settled, secret)
	}
	return settled, young
}

// sweepThese looks at Secrets that were read before the components: whose Secret is there, and who is not there after that, is gone. The cache
// may be older than the Secrets, or bounded to some components, so the API server is asked of those whom it does not know.
func (r *Reconciler[T]) sweepThese(ctx context.Context, secrets []*metav1.PartialObjectMetadata) error {
	cached, err := r.cachedOwners(ctx)
	if err != nil {
		return err
	}
	r.findStrays(secrets, cached)
	suspicious := slices.DeleteFunc(slices.Clone(secrets), func(secret *metav1.PartialObjectMetadata) bool { return r.belongsTo(secret, cached) })
	if len(suspicious) == 0 {
		return nil
	}
	cluster, err := r.clusterID(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, namespace := range r.sweptNamespaces() {
		beside := slices.DeleteFunc(slices.Clone(suspicious), func(secret *metav1.PartialObjectMetadata) bool {
			return namespace != "" && secret.Namespace != namespace
		})
		if len(beside) > 0 {
			errs = append(errs, r.sweepNamespace(ctx, cluster, namespace, beside))
		}
	}
	return errors.Join(errs...)
}

// sweptNamespaces are where components, and with them the Secrets that they hold, are looked for; "" stands for all.
func (r *Reconciler[T]) sweptNamespaces() []string {
	if r.options.Observe != ReachNamespaces {
		return []string{""}
	}
	return r.options.ObserveNamespaces
}

// sweepNamespace looks at the Secrets of a namespace. One of several where components may not be listed does not hold up the others.
func (r *Reconciler[T]) sweepNamespace(ctx context.Context, cluster, namespace string, secrets []*metav1.PartialObjectMetadata) error {
	owners, err := r.livingOwners(ctx, cluster, namespace)
	if namespace != "" && apierrors.IsForbidden(err) {
		log.FromContext(ctx).Info("could not tell whether the components of Secrets exist", "namespace", namespace, "cause", err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(
		r.sweepRecords(ctx, secrets, owners, r.ownerIn(cluster, types.NamespacedName{})),
		r.sweepHolds(ctx, secrets, owners),
	)
}

// livingOwners asks the API server for the components in a namespace, or in all, and returns their owner ids.
func (r *Reconciler[T]) livingOwners(ctx context.Context, cluster, namespace string) (map[string]bool, error) {
	living := metav1.PartialObjectMetadataList{}
	living.SetGroupVersionKind(r.gvk.GroupVersion().WithKind(r.gvk.Kind + "List"))
	if err := r.reader.List(ctx, &living, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	owners := map[string]bool{}
	for i := range living.Items {
		owners[r.ownerIn(cluster, client.ObjectKeyFromObject(&living.Items[i])).ID()] = true
	}
	return owners, nil
}

// cachedOwners returns the components in the cache by their owner ids; none where a list of them has no Go type. They are read-only.
func (r *Reconciler[T]) cachedOwners(ctx context.Context) (map[string]T, error) {
	obj, err := r.client.Scheme().New(r.gvk.GroupVersion().WithKind(r.gvk.Kind + "List"))
	list, ok := obj.(client.ObjectList)
	if err != nil || !ok {
		return nil, nil
	}
	if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	owners := map[string]T{}
	return owners, meta.EachListItem(list, func(item runtime.Object) error {
		component, ok := item.(T)
		if !ok {
			return nil
		}
		cluster, err := r.clusterFor(ctx, component)
		owners[r.ownerIn(cluster, client.ObjectKeyFromObject(component)).ID()] = component
		return err
	})
}

// findStrays notes records that the status of a component does not name: a crash left them. The next pass drops
// them, if it sees the same.
func (r *Reconciler[T]) findStrays(secrets []*metav1.PartialObjectMetadata, owners map[string]T) {
	for _, secret := range secrets {
		component, found := owners[secret.Labels[r.name+"/"+labelRecord]]
		if !found {
			continue
		}
		name, status := client.ObjectKeyFromObject(component), component.GetStatus()
		switch {
		case strings.HasPrefix(secret.Name, string(recordOfRendering)+"-") && recordedID(secret.Name) != status.RenderedSet:
			r.noteStrays(name, recordOfRendering)
		case strings.HasPrefix(secret.Name, string(recordOfPhases)+"-") && recordedID(secret.Name) != status.PhaseRecord:
			r.noteStrays(name, recordOfPhases)
		case strings.HasPrefix(secret.Name, string(recordOfInventory)+"-") && !markOf(status).names(secret.Name):
			r.noteUnnamed(name, secret)
		default:
			continue
		}
		r.wake(name)
	}
}

// belongsTo says that all who hold a Secret are among the owners.
func (r *Reconciler[T]) belongsTo(secret *metav1.PartialObjectMetadata, owners map[string]T) bool {
	if record, ok := secret.Labels[r.name+"/"+labelRecord]; ok {
		_, found := owners[record]
		return found
	}
	return !slices.ContainsFunc(r.holders(secret), func(f string) bool {
		_, found := owners[strings.TrimPrefix(f, r.name+"/")]
		return !found
	})
}

// sweepRecords drops the records whose component is none of the owners. Of another kind nothing is known. What is of another cluster, which a
// backup brought along, stays until somebody deletes it; our finalizer does not hold it then, for nobody here reads it.
func (r *Reconciler[T]) sweepRecords(ctx context.Context, secrets []*metav1.PartialObjectMetadata, owners map[string]bool, kin manifests.Owner) error {
	var errs []error
	for _, secret := range secrets {
		owner, isRecord := secret.Labels[r.name+"/"+labelRecord]
		of, known := manifests.ParseOwner(secret.Annotations[r.name+"/"+labelRecord])
		isKin := known && of.Reconciler == kin.Reconciler && of.Group == kin.Group && of.Kind == kin.Kind
		isOurs := isKin && (of.Cluster == kin.Cluster || secret.DeletionTimestamp != nil)
		if !isRecord || !isOurs || owners[owner] {
			continue
		}
		err := r.dropSecret(ctx, secret)
		if apierrors.IsConflict(err) {
			err = r.dropChanged(ctx, secret)
		}
		errs = append(errs, unlessForbidden(ctx, secret, err))
	}
	return errors.Join(errs...)
}

// unlessForbidden returns an error that may go away. Where we may not touch a Secret, it is no use to try again, and the others need not wait.
func unlessForbidden(ctx context.Context, secret *metav1.PartialObjectMetadata, err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	log.FromContext(ctx).Info("may not let go of a Secret whose component is gone", "secret", client.ObjectKeyFromObject(secret), "cause", err.Error())
	return nil
}

// sweepHolds takes the finalizers of components that are none of the owners off Secrets with kubeconfigs.
func (r *Reconciler[T]) sweepHolds(ctx context.Context, secrets []*metav1.PartialObjectMetadata, owners map[string]bool) error {
	var errs []error
	for _, secret := range secrets {
		left := slices.DeleteFunc(r.holders(secret), func(f string) bool { return owners[strings.TrimPrefix(f, r.name+"/")] })
		for _, finalizer := range left {
			err := r.changeHold(ctx, client.ObjectKeyFromObject(secret), finalizer, false)
			errs = append(errs, unlessForbidden(ctx, secret, err))
		}
	}
	return errors.Join(errs...)
}
