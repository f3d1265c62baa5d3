package component

import (
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
)

// rhythm is when a component had its last pass, and when the next one is due if nothing happens before.
type rhythm struct {
	ended, due time.Time
	// observing is when the first of several passes in a row began that could only wait for watches.
	observing time.Time
}

// mayBegin tells whether a pass may run now; if not, how long it has to wait. All that happens until then is seen by one pass. A pass that comes
// before it is due was started by an event, and an event makes the first retry come soon again.
func (r *Reconciler[T]) mayBegin(req reconcile.Request) (wait time.Duration) {
	now := r.clock.Now()
	last := r.rhythms.of(req.NamespacedName)
	if last.due.IsZero() || now.Before(last.due) {
		r.backoff.Forget(req)
	}
	if r.options.MinInterval <= 0 || last.ended.IsZero() {
		return 0
	}
	return max(0, last.ended.Add(r.options.MinInterval).Sub(now))
}

// ended notes the end of a pass, and when the next one is due. The rate limit wins over everything that is due earlier.
func (r *Reconciler[T]) ended(name types.NamespacedName, after time.Duration) reconcile.Result {
	if after > 0 {
		after = max(after, r.options.MinInterval)
	}
	now := r.clock.Now()
	last := rhythm{ended: now}
	if after > 0 {
		last.due = now.Add(after)
	}
	r.rhythms.enter(name, last)
	return reconcile.Result{RequeueAfter: after}
}

// observing ends a pass that could do nothing, because watches have not delivered yet: they will wake the component. It does not count for
// the rate limit. Where they don't, the time-out brings it back.
func (r *Reconciler[T]) observing(name types.NamespacedName, component T) (reconcile.Result, bool) {
	now := r.clock.Now()
	last := r.rhythms.of(name)
	if last.observing.IsZero() {
		last.observing = now
	}
	status := component.GetStatus()
	if status.ProgressingSince == nil {
		status.ProgressingSince = new(metav1.NewTime(last.observing))
	}
	left := r.timeLeft(component)
	last.due = now.Add(left)
	r.rhythms.enter(name, last)
	return reconcile.Result{RequeueAfter: left}, r.timeout(component) <= 0 || left > 0
}

// comeBack says when the next pass is due if nothing happens before. It is counted from the end of this one.
func (r *Reconciler[T]) comeBack(req reconcile.Request, component T, o Outcome, p *condition.Error, v verdict) time.Duration {
	failed, terminal := failures(o.Waiting)
	var after time.Duration
	switch {
	case v.state == metav1alpha1.StateSuspended, v.reason == metav1alpha1.ReasonForeignFinalizers:
		return 0
	case p != nil && p.RetryAfter > 0:
		after = p.RetryAfter
	case p != nil && !p.Terminal, len(failed) > len(terminal), slices.ContainsFunc(o.Blocked, Blocked.unlisted):
		after = r.backoff.When(req)
	default:
		r.backoff.Forget(req)
		after = r.settled(component, v, len(terminal) > 0 || len(o.Unwatched) > 0, refusedWith(component, terminal, p))
	}
	if left := r.timeLeft(component); v.state == metav1alpha1.StateProgressing && left > 0 && (after == 0 || left < after) {
		return left
	}
	return after
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

// settled says when to look again at a component for which nothing can be done now; polled says that no event will tell of what is missing,
// and refused is what others have to allow.
func (r *Reconciler[T]) settled(component T, v verdict, polled bool, refused string) time.Duration {
	if refused != "" {
		return r.afterRefusal(component, refused)
	}
	r.refusals.forget(client.ObjectKeyFromObject(component))
	if polled || v.state == metav1alpha1.StateStalled || !component.GetDeletionTimestamp().IsZero() {
		return r.retryInterval(component)
	}
	return r.resync(component)
}

// timeLeft is how long a component may still be on its way; zero where its time is up, or not limited.
func (r *Reconciler[T]) timeLeft(component T) time.Duration {
	since, timeout := component.GetStatus().ProgressingSince, r.timeout(component)
	if since == nil || timeout <= 0 {
		return 0
	}
	return max(0, since.Add(timeout).Sub(r.clock.Now()))
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

// Trigger wakes a component: it has a pass as soon as the rate limit lets it. It may be called from any goroutine, also before the
// reconciler is started; then the pass follows the start.
func (r *Reconciler[T]) Trigger(name types.NamespacedName) {
	r.mu.Lock()
	wake := r.wake
	if wake == nil {
		r.early = append(r.early, name)
	}
	r.mu.Unlock()
	if wake != nil {
		wake(name)
	}
}

// listen begins to wake components, and with those that were triggered before.
func (r *Reconciler[T]) listen(wake func(types.NamespacedName)) {
	r.mu.Lock()
	early := r.early
	r.wake, r.early = wake, nil
	r.mu.Unlock()
	for _, name := range early {
		wake(name)
	}
}
