package component

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
)

// report ends a pass: it writes the status where it differs, tells of changes in one event, and says when to come back. After a conflict the
// changes are still to be told.
func (r *Reconciler[T]) report(
	ctx context.Context, req reconcile.Request, component T, loaded *metav1alpha1.Status, o Outcome, failure error,
) (after time.Duration, err error) {
	status, deleting := component.GetStatus(), !component.GetDeletionTimestamp().IsZero()
	r.suspect(req.NamespacedName, o)
	counted := r.enterOutcome(ctx, component, loaded, o)
	if condition.Interrupted(counted) {
		return 0, counted
	}
	if failure == nil {
		failure = counted
	}
	p := condition.Of(failure)
	v := r.inTime(component, judge(deleting, o, p))
	summarise(status, component.GetGeneration(), v, r.clock.Now())
	if o.Inventory != nil && !deleting {
		// What ended earlier says nothing of the revision: its inputs may be newer.
		status.History = judged(status.History, v, r.clock.Now())
	}
	acknowledge(component, r.name)
	if before := r.persisted(component, loaded); !equality.Semantic.DeepEqual(before, status) {
		if err := r.writeTimed(ctx, component, markOf(before)); err != nil {
			return 0, r.untold(ctx, component, o, err)
		}
		r.acquit(req.NamespacedName)
	}
	r.concluded(ctx, component, o, p, v)
	r.emit(component, o.Changes, v, loaded)
	logPass(ctx, o.Changes, loaded, status)
	return r.tidied(ctx, component, r.noLater(r.comeBack(req, component, o, p, v), o.NextDue)), nil
}

// enterOutcome enters into the status what a pass found, and writes what of the inventory does not go there.
func (r *Reconciler[T]) enterOutcome(ctx context.Context, component T, loaded *metav1alpha1.Status, o Outcome) error {
	if o.Inventory == nil || o.Observing {
		return nil
	}
	err := r.keepInventory(ctx, component, markOf(r.persisted(component, loaded)), o.Inventory)
	if err == nil {
		count(component.GetStatus(), !component.GetDeletionTimestamp().IsZero(), o)
	}
	enterContested(component.GetStatus(), component.GetGeneration(), o, r.clock.Now())
	return err
}

// writeTimed writes the status at the end of a pass.
func (r *Reconciler[T]) writeTimed(ctx context.Context, component T, recorded mark) error {
	defer r.vitals.meter.Time(metrics.StepStatus)()
	return r.writeStatus(ctx, component, recorded)
}

// untold ends a pass whose status could not be written. That the component is gone is a conflict.
func (r *Reconciler[T]) untold(ctx context.Context, component T, o Outcome, cause error) error {
	if apierrors.IsNotFound(cause) {
		return r.conflict(client.ObjectKeyFromObject(component), "it does not exist any more")
	}
	if !condition.Interrupted(cause) {
		r.vitals.passed(ctx, outcomeFailed, cause)
		r.tellChanges(ctx, component, o)
	}
	return cause
}

// inTime turns progress that takes too long into Stalled. The clock starts with new inputs, or when what was ready is no more.
func (r *Reconciler[T]) inTime(component T, v verdict) verdict {
	status := component.GetStatus()
	if v.state != metav1alpha1.StateProgressing {
		return v
	}
	if status.ProgressingSince == nil {
		now := metav1.NewTime(r.clock.Now())
		status.ProgressingSince = &now
	}
	timeout := r.timeout(component)
	if timeout <= 0 || r.clock.Now().Before(status.ProgressingSince.Add(timeout)) {
		return v
	}
	return verdict{metav1alpha1.StateStalled, metav1alpha1.ReasonTimeout, fmt.Sprintf("not ready within %s; %s", timeout, v.message)}
}
