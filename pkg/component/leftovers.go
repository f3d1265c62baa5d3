package component

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// addStrays adds to an inventory what Secrets hold of it that a lost or edited status does not name any more, and returns these Secrets. What
// somebody created anew since is left as it was found.
func (r *Reconciler[T]) addStrays(ctx context.Context, owner manifests.Owner, rebuilt plan.Inventory) ([]metav1.PartialObjectMetadata, error) {
	strays, err := r.listRecords(ctx, owner, recordOfInventory)
	if err != nil {
		return nil, err
	}
	id := r.latestRecord(strays, "")
	if id == "" {
		return strays, nil
	}
	latest := strays[slices.IndexFunc(strays, isPartOf(id))]
	parts, err := strconv.ParseInt(latest.Annotations[r.name+"/"+annotationParts], 10, 32)
	if err != nil {
		return strays, nil
	}
	lines, err := readInventory(ctx, metav1alpha1.InventoryRecord{
		Namespace: latest.Namespace, Name: recordPrefix(recordOfInventory, owner.ID(), id), Parts: int32(parts),
	}, r.recordSecret)
	if err != nil && !isLost(err) {
		return nil, err
	}
	// What cannot be read of them was found by its label.
	entries, _ := metav1alpha1.ParseInventory(lines)
	for _, e := range entries {
		found, ok := rebuilt[plan.KeyOf(e)]
		if ok && found.UID != e.UID {
			continue
		}
		if ok {
			// What is left of a former record may be older than the object.
			e.DeletePolicy = found.DeletePolicy
		}
		rebuilt[plan.KeyOf(e)] = e
	}
	return strays, nil
}

// leave notes Secrets that are of no use any more, but for those that the status names.
func (r *Reconciler[T]) leave(name types.NamespacedName, secrets []metav1.PartialObjectMetadata, status *metav1alpha1.Status) {
	if s := r.shelvedAs(name, status); s != nil {
		secrets = slices.DeleteFunc(secrets, isPartOf(s.id))
	}
	if len(secrets) == 0 {
		return
	}
	r.leftovers.enter(name, secrets)
}

// noteUnnamed notes a Secret of an inventory that a status does not name.
func (r *Reconciler[T]) noteUnnamed(name types.NamespacedName, secret *metav1.PartialObjectMetadata) {
	r.unnamed.change(name, func(noted map[string]metav1.PartialObjectMetadata) (map[string]metav1.PartialObjectMetadata, bool) {
		more := map[string]metav1.PartialObjectMetadata{secret.Name: *secret}
		maps.Copy(more, without(noted, secret.Name))
		return more, true
	})
}

// bury finds among the Secrets that no status names those that none is going to name: a crash left them. Another operator may be about to name
// the others, which are to replace what is recorded now; they go with the next record. Where the record is lost, all of them are left for
// its rebuilding.
func (r *Reconciler[T]) bury(ctx context.Context, component T) error {
	name, status := client.ObjectKeyFromObject(component), component.GetStatus()
	unnamed := slices.Collect(maps.Values(r.unnamed.of(name)))
	recorded := markOf(status)
	isKnown := !status.HasInventoryRecord() || r.shelvedAs(name, status) != nil
	if len(unnamed) == 0 || recorded.empty() || !isKnown || r.damaged(component) {
		return nil
	}
	if err := r.confirm(ctx, component, recorded); err != nil {
		return fmt.Errorf("confirm the component: %w", err)
	}
	for _, secret := range unnamed {
		after := secret.Annotations[r.name+"/"+annotationAfter]
		if after != "" && after != recorded.id() && !recorded.names(secret.Name) {
			r.leftovers.change(name, func(left []metav1.PartialObjectMetadata) ([]metav1.PartialObjectMetadata, bool) {
				return append(slices.Clip(left), secret), true
			})
		}
		r.unnamed.change(name, func(noted map[string]metav1.PartialObjectMetadata) (map[string]metav1.PartialObjectMetadata, bool) {
			rest := without(noted, secret.Name)
			return rest, len(rest) > 0
		})
	}
	return nil
}

// tidy deletes the Secrets of former inventories. They are known by UID, and were there before the one that counts was named, so none of them
// is another operator's newer one.
func (r *Reconciler[T]) tidy(ctx context.Context, name types.NamespacedName) error {
	left := r.leftovers.of(name)
	for i := range left {
		err := r.dropSecret(ctx, &left[i])
		if apierrors.IsConflict(err) {
			err = r.dropChanged(ctx, &left[i])
		}
		if err != nil {
			return fmt.Errorf("delete Secret %s/%s of a former inventory: %w", left[i].Namespace, left[i].Name, err)
		}
	}
	r.leftovers.forget(name)
	return nil
}

// dropChanged deletes a Secret that somebody wrote to since it was listed.
func (r *Reconciler[T]) dropChanged(ctx context.Context, listed *metav1.PartialObjectMetadata) error {
	now, err := r.local.metadata.Resource(secretResource).Namespace(listed.Namespace).Get(ctx, listed.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && now.UID != listed.UID {
		return nil
	}
	if err != nil {
		return err
	}
	return r.dropSecret(ctx, now)
}

// tidied is when to come back to a component after a pass: soon, where Secrets of former inventories could not be deleted.
func (r *Reconciler[T]) tidied(ctx context.Context, component T, after time.Duration) time.Duration {
	err := r.bury(ctx, component)
	if err == nil {
		err = r.tidy(ctx, client.ObjectKeyFromObject(component))
	}
	if err == nil {
		return after
	}
	log.FromContext(ctx).Info("Secrets are left over, and deleted later", "cause", err.Error())
	soon := r.intervals(component).Retry
	if after == 0 {
		return soon
	}
	return min(after, soon)
}

// endInventory deletes all Secrets of inventories: nothing is left to record.
func (r *Reconciler[T]) endInventory(ctx context.Context, component T, owner manifests.Owner) error {
	if component.GetStatus().InventoryRecord == nil {
		return nil
	}
	if err := r.dropRecords(ctx, owner, recordOfInventory, ""); err != nil {
		return fmt.Errorf("delete the Secrets of the inventory: %w", err)
	}
	return nil
}
