package component

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// A component that somebody took our finalizer off goes without us. Its dependents stay, as it was wanted; but our finalizers on the Secrets
// beside it would hold these, and their namespace, for ever.

// belongings are the Secrets that carry finalizers of ours for a component.
type belongings struct {
	uid types.UID
	// target is the name of the Secret with the kubeconfig.
	target string
	// records are the kinds of records that there may be.
	records []recordKind
}

// noteBelongings remembers what a component has at the end of a pass.
func (r *Reconciler[T]) noteBelongings(component T) {
	name, status := client.ObjectKeyFromObject(component), component.GetStatus()
	var records []recordKind
	if status.PhaseRecord != "" {
		records = append(records, recordOfPhases)
	}
	if status.RenderedSet != "" {
		records = append(records, recordOfRendering)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if status.TargetSecret == "" && len(records) == 0 {
		delete(r.belongings, name)
		return
	}
	r.belongings[name] = belongings{uid: component.GetUID(), target: status.TargetSecret, records: records}
}

// letGo lets go of what belongs to a component of a name that does not exist any more; successor is the UID of the one that does, empty
// where there is none.
func (r *Reconciler[T]) letGo(ctx context.Context, name types.NamespacedName, successor types.UID) error {
	r.mu.Lock()
	left, ok := r.belongings[name]
	r.mu.Unlock()
	if !ok || left.uid == successor {
		return nil
	}
	owner := r.ownerIn(r.cluster, name)
	if left.target != "" {
		if err := r.changeHold(ctx, heldSecret(owner, left.target), r.holdBy(owner), false); err != nil {
			return err
		}
	}
	for _, kind := range left.records {
		if err := r.dropRecords(ctx, owner, kind, ""); err != nil {
			return fmt.Errorf("drop the records of %s: %w", name, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.belongings, name)
	return nil
}

// abandoned lets go of what belongs to a component that the cache does not have any more. The cache may be bounded to some components, so the
// API server is asked; that costs nothing where the component was released in order, or had nothing.
func (r *Reconciler[T]) abandoned(ctx context.Context, name types.NamespacedName) error {
	r.mu.Lock()
	_, ok := r.belongings[name]
	r.mu.Unlock()
	if !ok {
		return nil
	}
	_, err := r.live(ctx, name)
	if apierrors.IsConflict(err) {
		return r.letGo(ctx, name, "")
	}
	return err
}

// sweepBackoff is how often, and how soon again, the sweep at the start is tried.
var sweepBackoff = wait.Backoff{Duration: time.Second, Factor: 2, Steps: 8}

// sweep lets go of what belongs to components that went while no operator ran. It costs two lists by label where there is nothing to do.
func (r *Reconciler[T]) sweep(ctx context.Context) {
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, sweepBackoff, func(ctx context.Context) (bool, error) {
		last = r.sweepOnce(ctx)
		return last == nil || apierrors.IsForbidden(last), nil
	})
	if ctx.Err() == nil && (err != nil || last != nil) {
		log.FromContext(ctx).Info("did not look for Secrets that components left behind, which went while no operator ran", "cause", fmt.Sprint(last))
	}
}

// sweepOnce reads the Secrets before the components: whose Secret is there, and who is not there after that, is gone.
func (r *Reconciler[T]) sweepOnce(ctx context.Context) error {
	cluster, err := r.clusterID(ctx)
	if err != nil {
		return err
	}
	secrets := r.local.metadata.Resource(secretResource)
	records, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: r.name + "/" + labelRecord})
	if err != nil {
		return err
	}
	held, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: r.name + "/" + labelHeld})
	if err != nil || len(records.Items)+len(held.Items) == 0 {
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
	if err := r.sweepRecords(ctx, records.Items, owners, r.ownerIn(cluster, types.NamespacedName{})); err != nil {
		return err
	}
	return r.sweepHolds(ctx, held.Items, owners)
}

// sweepRecords drops the records whose component is none of the owners. Of another cluster, which a backup brought along, or of
// another kind nothing is known.
func (r *Reconciler[T]) sweepRecords(ctx context.Context, records []metav1.PartialObjectMetadata, owners map[string]bool, kin manifests.Owner) error {
	for i := range records {
		secret := &records[i]
		known := strings.HasPrefix(secret.Annotations[r.name+"/"+labelRecord], strings.TrimSuffix(kin.String(), "/"))
		if !known || owners[secret.Labels[r.name+"/"+labelRecord]] {
			continue
		}
		if err := r.dropSecret(ctx, secret); err != nil {
			return err
		}
	}
	return nil
}

// sweepHolds takes the finalizers of components that are none of the owners off Secrets with kubeconfigs.
func (r *Reconciler[T]) sweepHolds(ctx context.Context, held []metav1.PartialObjectMetadata, owners map[string]bool) error {
	for i := range held {
		secret := &held[i]
		left := slices.DeleteFunc(r.holders(secret), func(f string) bool { return owners[strings.TrimPrefix(f, r.name+"/")] })
		for _, finalizer := range left {
			if err := r.changeHold(ctx, types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name}, finalizer, false); err != nil {
				return err
			}
		}
	}
	return nil
}
