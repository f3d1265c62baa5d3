package component

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/schedule"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
)

// report ends a pass: it writes the status if it differs, tells of changes in one event, and returns the delay before the
// next pass. After a conflict the changes are still to be reported.
func (r *Reconciler[T]) report(
	ctx context.Context, req reconcile.Request, component T, loaded *metav1alpha1.Status, o outcome.Outcome, failure error,
) (after time.Duration, err error) {
	deleting, in := !component.GetDeletionTimestamp().IsZero(), r.intervals(component)
	unrecorded := r.recordOutcome(ctx, component, loaded, o)
	if condition.Interrupted(unrecorded) {
		return 0, unrecorded
	}
	if failure == nil {
		failure = unrecorded
	}
	p := condition.Of(failure)
	next, v := status.Next(*component.GetStatus(), status.Report{
		Generation: component.GetGeneration(), Deleting: deleting, Outcome: o, Failure: p, KeepCounts: unrecorded != nil,
		Timeout: in.Timeout, Acknowledged: r.acknowledged(component), Now: r.clock.Now(),
	})
	*component.GetStatus() = next
	if before := r.components.Persisted(component, loaded); !equality.Semantic.DeepEqual(before, &next) {
		if err := r.writeTimed(ctx, component, components.RefOf(before)); err != nil {
			return 0, r.untold(ctx, component, o, err)
		}
		r.acquit(req.NamespacedName)
	}
	r.concluded(ctx, component, o, p, v)
	r.tell(component, status.EventOf(loaded, component.GetStatus(), o.Changes, v))
	logPass(ctx, loaded, component.GetStatus(), o.Changes)
	after = r.schedules.of(req.NamespacedName).Next(schedule.Pass{
		Outcome: o, Failure: p, State: v.State, Reason: v.Reason, ProgressingSince: component.GetStatus().ProgressingSince,
		Request: r.requestOf(component), Now: r.clock.Now(),
	}, in)
	return r.deleteStale(ctx, component, after), nil
}

// acknowledged returns the request for a pass that its sender wants to be acknowledged; empty without one.
func (r *Reconciler[T]) acknowledged(component T) string {
	request := component.GetAnnotations()[r.name+"/"+AnnotationReconcileRequested]
	if component.GetAnnotations()[r.name+"/"+AnnotationReconcileAcknowledge] != request {
		return ""
	}
	return request
}

// requestOf identifies the state of a component that a denied request belongs to.
func (r *Reconciler[T]) requestOf(component T) schedule.Request {
	return schedule.Request{
		UID: component.GetUID(), Generation: component.GetGeneration(), Deleting: !component.GetDeletionTimestamp().IsZero(),
		RequestedAt: component.GetAnnotations()[r.name+"/"+AnnotationReconcileRequested],
	}
}

// tell records an event about a component, if there is one.
func (r *Reconciler[T]) tell(component client.Object, e status.Event) {
	if e.Type != "" {
		r.recorder.Eventf(component, nil, e.Type, e.Reason, "Reconcile", "%s", e.Note)
	}
}

// tellChanges reports the changes of a pass whose status was not written.
func (r *Reconciler[T]) tellChanges(ctx context.Context, component T, o outcome.Outcome) {
	s := component.GetStatus()
	r.tell(component, status.ChangesEvent(s, o.Changes))
	logPass(ctx, s, s, o.Changes)
}

// logPass logs a pass in one line, if it changed dependents or the state of the component.
func logPass(ctx context.Context, before, after *metav1alpha1.Status, changes []outcome.Change) {
	if line := status.LogLine(before, after, changes); line != nil {
		log.FromContext(ctx).Info("reconciled", line...)
	}
}

// recordOutcome records the inventory of a pass outside the status, where it takes Secrets.
func (r *Reconciler[T]) recordOutcome(ctx context.Context, component T, loaded *metav1alpha1.Status, o outcome.Outcome) error {
	if o.Inventory == nil || o.Observing {
		return nil
	}
	return r.keepInventory(ctx, component, components.RefOf(r.components.Persisted(component, loaded)), o.Inventory)
}

// writeTimed writes the status at the end of a pass.
func (r *Reconciler[T]) writeTimed(ctx context.Context, component T, recorded components.InventoryRef) error {
	defer r.vitals.meter.Time(metrics.StepStatus)()
	return r.components.WriteStatus(ctx, component, recorded)
}

// untold ends a pass whose status could not be written. That the component is gone is a conflict.
func (r *Reconciler[T]) untold(ctx context.Context, component T, o outcome.Outcome, cause error) error {
	if apierrors.IsNotFound(cause) {
		return r.components.Conflict(client.ObjectKeyFromObject(component), "it does not exist any more")
	}
	if !condition.Interrupted(cause) {
		r.vitals.passed(ctx, outcomeFailed, cause)
		r.tellChanges(ctx, component, o)
	}
	return cause
}
