package component

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// report ends a pass: it writes the status where it differs, tells of changes in one event, and says when to come back.
func (r *Reconciler[T]) report(
	ctx context.Context, req reconcile.Request, component T, loaded *metav1alpha1.Status, o Outcome, failure error,
) (reconcile.Result, error) {
	status := component.GetStatus()
	r.suspect(req.NamespacedName, o)
	if failure == nil {
		failure = count(status, o)
	}
	p := problemOf(failure)
	v := r.inTime(component, judge(!component.GetDeletionTimestamp().IsZero(), o, p))
	summarise(status, component.GetGeneration(), v, r.clock.Now())
	if before := r.persisted(component, loaded); !equality.Semantic.DeepEqual(before, status) {
		if err := r.writeStatus(ctx, component, before.Inventory); err != nil {
			if interrupted(err) || apierrors.IsNotFound(err) {
				return reconcile.Result{RequeueAfter: r.backoff.When(req)}, nil
			}
			return reconcile.Result{}, err
		}
		r.acquit(req.NamespacedName)
	}
	r.emit(component, o.Changes, v, loaded)
	return reconcile.Result{RequeueAfter: r.noLater(r.comeBack(req, component, o, p, v), o.NextDue)}, nil
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

// comeBack says when the next pass is due if nothing happens before.
func (r *Reconciler[T]) comeBack(req reconcile.Request, component T, o Outcome, p *problem, v verdict) time.Duration {
	failed, terminal := failures(o.Waiting)
	switch {
	case v.state == metav1alpha1.StateSuspended, v.reason == metav1alpha1.ReasonForeignFinalizers:
		return 0
	case p != nil && !p.terminal, len(failed) > len(terminal), slices.ContainsFunc(o.Blocked, Blocked.unlisted):
		return r.backoff.When(req)
	}
	r.backoff.Forget(req)
	switch {
	case len(o.Unwatched) > 0:
		return r.retryInterval(component)
	case v.state == metav1alpha1.StateReady:
		return r.resync(component)
	case len(terminal) > 0, v.state == metav1alpha1.StateStalled, !component.GetDeletionTimestamp().IsZero():
		return r.retryInterval(component)
	}
	if since := component.GetStatus().ProgressingSince; v.state == metav1alpha1.StateProgressing && since != nil && r.timeout(component) > 0 {
		return max(time.Second, since.Add(r.timeout(component)).Sub(r.clock.Now()))
	}
	return r.resync(component)
}

// noLater shortens a delay, of which zero means never, so that it ends when something is due.
func (r *Reconciler[T]) noLater(delay time.Duration, due time.Time) time.Duration {
	if due.IsZero() {
		return delay
	}
	left := max(time.Millisecond, due.Sub(r.clock.Now()))
	if delay == 0 {
		return left
	}
	return min(delay, left)
}

// resync spreads the resyncs of many components by up to a tenth.
func (r *Reconciler[T]) resync(component T) time.Duration {
	interval := r.options.ResyncInterval
	if c, ok := any(component).(Resyncer); ok {
		interval = c.ResyncInterval()
	}
	if interval <= 0 {
		return 0
	}
	return interval + rand.N(interval/10+1)
}

func (r *Reconciler[T]) retryInterval(component T) time.Duration {
	if c, ok := any(component).(Retrier); ok && c.RetryInterval() > 0 {
		return c.RetryInterval()
	}
	return r.options.RetryInterval
}

func (r *Reconciler[T]) timeout(component T) time.Duration {
	if c, ok := any(component).(Timeouter); ok {
		return c.Timeout()
	}
	return r.options.Timeout
}
