package component

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
)

// maxRedo bounds how often a write to a component is redone; somebody else may write to it all the time. A pause before the second time
// and each after it is random, up to maxPause at the most.
const (
	maxRedo  = 15
	maxPause = 500 * time.Millisecond
)

// persist writes to a component as the API server has it, bound to the resource version: what is in memory besides, such as defaults that
// a hook filled in, is not sent. Where somebody wrote in between, the write is redone on what is there then, unless that is another
// component for the pass than the one it works for; see superseded. Then, and when the writes of others don't end, it is a conflict.
func (r *Reconciler[T]) persist(ctx context.Context, component T, recorded mark, write func(stored T) error) error {
	name := client.ObjectKeyFromObject(component)
	if err := r.certain(ctx, name); err != nil {
		return err
	}
	stored, err := r.known(ctx, name)
	for redone := 0; ; redone++ {
		if err != nil {
			return err
		}
		if err := r.superseded(component, stored, recorded); err != nil {
			return err
		}
		err = write(stored)
		if err == nil {
			r.remember(stored)
			component.SetResourceVersion(stored.GetResourceVersion())
			component.SetFinalizers(slices.Clone(stored.GetFinalizers()))
			return nil
		}
		if !apierrors.IsConflict(err) || redone == maxRedo {
			return err
		}
		stored, err = r.again(ctx, name, redone)
	}
}

// again reads a component after a conflict. Of several that write at once, all but one lose; random pauses that grow, as on a shared wire,
// give each its turn.
func (r *Reconciler[T]) again(ctx context.Context, name types.NamespacedName, redone int) (T, error) {
	if redone > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(rand.N(min(maxPause, 5*time.Millisecond<<redone))):
		}
	}
	return r.live(ctx, name)
}

// writeStatus persists our part of the status. What an author keeps in the status besides stays as the API server has it.
func (r *Reconciler[T]) writeStatus(ctx context.Context, component T, recorded mark) error {
	status := component.GetStatus()
	err := r.persist(ctx, component, recorded, func(stored T) error {
		status.Conditions = withForeign(status.Conditions, stored.GetStatus().Conditions)
		*stored.GetStatus() = *status.DeepCopy()
		if err := r.client.Status().Update(ctx, stored); err != nil {
			return err
		}
		// An older definition may drop fields that it does not know. Comparing with what came back would write them again and again.
		*stored.GetStatus() = *status.DeepCopy()
		return nil
	})
	if err == nil {
		r.named(client.ObjectKeyFromObject(component), status)
	}
	return err
}

// withForeign returns our conditions of one list, and those of the other that are not ours.
func withForeign(ours, theirs []metav1.Condition) []metav1.Condition {
	merged := slices.DeleteFunc(slices.Clone(ours), status.IsForeign)
	for _, c := range theirs {
		if status.IsForeign(c) {
			merged = append(merged, c)
		}
	}
	return merged
}

// hold makes sure that the component carries our finalizer.
func (r *Reconciler[T]) hold(ctx context.Context, component T) error {
	if controllerutil.ContainsFinalizer(component, r.Finalizer()) {
		return nil
	}
	return r.changeFinalizers(ctx, component, markOf(component.GetStatus()), controllerutil.AddFinalizer)
}

// changeFinalizers adds or removes our finalizer.
func (r *Reconciler[T]) changeFinalizers(ctx context.Context, component T, recorded mark, change func(client.Object, string) bool) error {
	return r.persist(ctx, component, recorded, func(stored T) error {
		base, ok := stored.DeepCopyObject().(T)
		if !ok || !change(stored, r.Finalizer()) {
			return nil
		}
		return r.client.Patch(ctx, stored, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	})
}

// remember keeps what was written until the cache has caught up.
func (r *Reconciler[T]) remember(component T) {
	if written, ok := component.DeepCopyObject().(T); ok {
		r.written.keep(written)
	}
}

// persisted returns the status that the API server has: what this pass wrote, or what it loaded.
func (r *Reconciler[T]) persisted(component T, loaded *metav1alpha1.Status) *metav1alpha1.Status {
	written, ok := r.written.of(client.ObjectKeyFromObject(component))
	if ok && written.GetResourceVersion() == component.GetResourceVersion() {
		return written.GetStatus().DeepCopy()
	}
	return loaded
}

// known returns the component as it is known best: the cache may be older than what this reconciler itself wrote last. That it is gone is
// a conflict.
func (r *Reconciler[T]) known(ctx context.Context, name types.NamespacedName) (T, error) {
	component, err := r.freshest(ctx, name)
	if apierrors.IsNotFound(err) {
		return component, r.conflict(name, "it does not exist any more")
	}
	return component, err
}
