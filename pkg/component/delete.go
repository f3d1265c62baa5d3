package component

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
)

// delete takes the dependents of a component away. It needs no rendering, and no inputs: what was recorded is enough.
func (r *Reconciler[T]) delete(ctx context.Context, component T) (outcome.Outcome, error) {
	if !r.concerns(component) {
		return outcome.Outcome{}, nil
	}
	if others := components.OtherFinalizers(component, r.Finalizer()); len(others) > 0 {
		return outcome.Outcome{}, &condition.Error{
			Reason: metav1alpha1.ReasonForeignFinalizers, State: metav1alpha1.StateDeleting,
			Message: fmt.Sprintf("dependents stay until the finalizers of others are gone: %s", strings.Join(others, ", ")),
		}
	}
	target, err := r.target(ctx, component)
	if err != nil && r.hasNothing(component) {
		// There is nothing to find where nobody gets to.
		return r.deleted(ctx, component, outcome.Outcome{})
	}
	if err != nil || target.observing {
		return outcome.Outcome{Observing: target.observing}, orLetGo(err)
	}
	pass, err := r.prepareDelete(ctx, component, target)
	if err != nil {
		return outcome.Outcome{}, err
	}
	result, err := r.deleteWithHooks(ctx, component, target.engine, pass)
	result.Unsearched = r.missed.of(client.ObjectKeyFromObject(component))
	if err == nil {
		r.reportSkipped(component, result)
	}
	return result, err
}

// prepareDelete collects what a deletion works with.
func (r *Reconciler[T]) prepareDelete(ctx context.Context, component T, t target) (Pass, error) {
	owner, inventory, err := r.recorded(ctx, component, t.engine)
	if err != nil {
		return Pass{}, err
	}
	if err := checkCluster(component.GetStatus(), t, len(inventory)); err != nil {
		return Pass{}, orLetGo(err)
	}
	if len(inventory) > 0 {
		if err := r.protectKubeconfig(ctx, component); err != nil {
			return Pass{}, err
		}
	}
	pass := r.newPass(component, owner, inventory)
	if pass.Managed, err = r.managedTypes(component); err != nil {
		return Pass{}, err
	}
	pass.PreDelete, pass.PostDelete, err = r.recallPhases(ctx, component, pass, t)
	return pass, err
}

// concerns says that a component that is being deleted waits for us, or that we created something for it too late.
func (r *Reconciler[T]) concerns(component T) bool {
	return controllerutil.ContainsFinalizer(component, r.Finalizer()) ||
		len(r.suspects.of(client.ObjectKeyFromObject(component)).inventory) > 0
}

// hasNothing says that no dependent was ever created, as far as anybody knows.
func (r *Reconciler[T]) hasNothing(component T) bool {
	return components.RefOf(component.GetStatus()).Empty() && !components.Damaged(component, r.Finalizer()) &&
		len(r.suspects.of(client.ObjectKeyFromObject(component)).inventory) == 0
}

// orLetGo says of a deletion that lacks its target what else a person can do. It is left to them: what we let go nobody deletes any more.
func orLetGo(err error) error {
	if err == nil || condition.Interrupted(err) {
		return err
	}
	p := *condition.Of(err)
	p.Message += status.HintGiveUp
	return &p
}

// settle records that nothing is left, before the Secrets go that lead there: the kubeconfig of the target, and the records of phases and of
// the inventory. A crash in between must not make the next pass look for them.
func (r *Reconciler[T]) settle(ctx context.Context, component T) error {
	status := component.GetStatus()
	recorded := components.RefOf(status)
	if recorded.Empty() && !components.Damaged(component, r.Finalizer()) || status.TargetSecret == "" && status.PhaseRecord == "" && !status.HasInventoryRecord() {
		return nil
	}
	if err := r.keepInventory(ctx, component, recorded, nil); err != nil {
		return err
	}
	status.AppliedDigest = ""
	return r.components.WriteStatus(ctx, component, recorded)
}

// releaseDone lets a component go whose deletion came to its end with this pass, which failed by failure, if at all.
func (r *Reconciler[T]) releaseDone(ctx context.Context, component T, o outcome.Outcome, failure error) (released bool, err error) {
	if failure != nil || component.GetDeletionTimestamp().IsZero() || !o.Done() {
		return false, failure
	}
	if err := r.release(ctx, component); err != nil {
		return false, err
	}
	r.vitals.passed(ctx, outcomeDeleted, nil)
	log.FromContext(ctx).Info("deleted", "changes", status.CountVerbs(o.Changes))
	return true, nil
}

// release lets the component go: its dependents are gone.
func (r *Reconciler[T]) release(ctx context.Context, component T) error {
	owner, err := r.owners.Of(ctx, component)
	if err != nil {
		return err
	}
	if err := r.settle(ctx, component); err != nil {
		return err
	}
	if err := r.releaseKubeconfig(ctx, component, owner); err != nil {
		return err
	}
	if err := r.endPhases(ctx, component, owner); err != nil {
		return err
	}
	if err := r.keepNothing(ctx, component, owner); err != nil {
		return err
	}
	if err := r.deleteInventories(ctx, component, owner); err != nil {
		return err
	}
	if err := r.components.RemoveFinalizer(ctx, component); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.forget(client.ObjectKeyFromObject(component))
	return nil
}
