package component

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	if status.PhaseRecord != "" && status.PhaseRecord != phaseUnknown {
		records = append(records, recordOfPhases)
	}
	if status.RenderedSet != "" {
		records = append(records, recordOfRendering)
	}
	if status.InventoryRecord != nil {
		records = append(records, recordOfInventory)
	}
	r.belongings.change(name, func(left belongings) (belongings, bool) {
		if left.uid != "" && left.uid != component.GetUID() {
			// The pass could not let go of what a predecessor left; the next one tries again.
			return left, true
		}
		return belongings{component.GetUID(), status.TargetSecret, records}, status.TargetSecret != "" || len(records) > 0
	})
}

// letGo lets go of what belongs to a component of a name that does not exist any more; successor is the UID of the one that does, empty
// where there is none.
func (r *Reconciler[T]) letGo(ctx context.Context, name types.NamespacedName, successor types.UID) error {
	left, ok := r.belongings.lookup(name)
	if !ok || left.uid == successor {
		return nil
	}
	// The record of one that is gone may have been edited, and this process need not have asked for any other.
	cluster, err := r.clusterID(ctx)
	if err != nil {
		return err
	}
	owner := r.ownerIn(cluster, name)
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
	r.belongings.forget(name)
	return nil
}

// abandoned lets go of what belongs to a component that the cache does not have any more. The cache may be bounded to some components, so the
// API server is asked; that costs nothing where the component was released in order, or had nothing.
func (r *Reconciler[T]) abandoned(ctx context.Context, name types.NamespacedName) error {
	if _, ok := r.belongings.lookup(name); !ok {
		return nil
	}
	live, err := r.live(ctx, name)
	if apierrors.IsConflict(err) {
		return r.letGo(ctx, name, "")
	}
	if err != nil {
		return err
	}
	// It may be a successor already, which the cache does not have yet.
	return r.letGo(ctx, name, live.GetUID())
}
