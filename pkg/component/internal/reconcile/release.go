package reconcile

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/telemetry"
)

// release deletes all records of a component whose dependents no longer exist, and then removes our finalizer from the
// component.
func (r *Runner) release(ctx context.Context, c *Component, o outcome.Outcome) error {
	owner, err := r.Owners.Of(ctx, c.Object)
	if err != nil {
		return err
	}
	if err := r.Records.End(ctx, c, owner); err != nil {
		return err
	}
	held := r.isHeld(c)
	if err := client.IgnoreNotFound(r.Store.RemoveFinalizer(ctx, c.Object)); err != nil {
		return err
	}
	r.forget(c.Name())
	if held {
		r.markReleased(ctx, c)
	}
	r.Metrics.Pass(ctx, telemetry.ResultDeleted, nil)
	log.FromContext(ctx).Info("deleted", "changes", status.CountVerbs(o.Changes))
	return nil
}

// markReleased prevents passes over a component until the cache no longer contains it. The watch event of its deletion
// then starts the pass in which vanished forgets the component. If the cache does not contain the component,
// markReleased forgets it.
func (r *Runner) markReleased(ctx context.Context, c *Component) {
	r.States.Of(c.Name()).released = c.GetUID()
	if _, err := r.Store.LoadSpec(ctx, c.Name()); apierrors.IsNotFound(err) {
		r.States.Forget(c.Name())
	}
}

// vanished ends the work for a component that is not in the cache any more. vanished deletes the dependents that were
// created after the last write of the component's status. vanished returns the delay before the next try. The delay is
// zero if no further try is needed, or if a watch starts the next try.
func (r *Runner) vanished(ctx context.Context, name types.NamespacedName, state *State) time.Duration {
	if late := state.unconfirmed; len(late.entries) > 0 {
		owner := r.Owners.Known(name)
		request := lateDeleteRequest(owner, late.entries, r.Clock.Now(), func() { r.Wake(name) })
		o, err := r.Applier.Delete(ctx, late.client, request)
		switch {
		case err == nil && o.Observing:
			return 0
		case err != nil || !o.Done():
			return state.Schedule.Retry()
		}
		late.client.Release(owner)
	}
	if err := r.Records.ReleaseVanished(ctx, name); err != nil {
		log.FromContext(ctx).Error(err, "release the Secrets of a deleted component")
		return state.Schedule.Retry()
	}
	r.forget(name)
	return 0
}

// forget drops the state in memory of a component that does not exist any more, and ends the watches for the component.
func (r *Runner) forget(name types.NamespacedName) {
	r.Forgetters.Forget(name, r.Owners.Known(name))
}

// settleQuota tells the quotas the number of dependents after a pass that left nothing to do.
func (r *Runner) settleQuota(c *Component, o outcome.Outcome) {
	if o.Inventory != nil && o.Done() && !c.IsDeleted() {
		r.Quotas.Settle(c.Name(), len(o.Inventory))
	}
}
