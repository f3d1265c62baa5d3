package reconcile

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/schedule"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Runner makes passes over components, and reports them.
type Runner struct {
	Pass
	// Turns are the slots for passes over components with a kubeconfig. Targets takes them. nil means no limit.
	Turns *target.Turns
	// Budget bounds the memory of all passes; nil is no bound.
	Budget *budget.Budget
	// Sources holds the fetched sources of components.
	Sources Sources
	// States hold the state that the process keeps for each component.
	States *States
	// Kind is the kind of the components, for traces.
	Kind string
	// MinInterval is the shortest time between two passes over the same component; zero means no limit.
	MinInterval time.Duration
	// Limiter limits the rate of passes over each component, in addition to MinInterval.
	Limiter schedule.Limit
	// TellDependent creates an Event about a dependent of a component; nil if dependents get no Events.
	TellDependent func(obj components.Object, e status.DependentEvent)
	// Forgetters drop what the process keeps of a component that does not exist any more.
	Forgetters *Forgetters
}

// Records deletes the Secrets in which parts of the state of a component are stored, and removes finalizers from
// Secrets.
type Records interface {
	// DeleteStale deletes Secrets with previous inventories, which the status of the component does not name any more.
	DeleteStale(ctx context.Context, c *Component) error
	// End deletes all records and finalizers of a component whose dependents no longer exist.
	End(ctx context.Context, c *Component, owner manifests.Owner) error
	// RememberOwned stores in memory, at the end of a pass, which Secrets a component owns.
	RememberOwned(c *Component)
	// ReleaseLeft deletes the records of a deleted component of the same name, and removes its finalizers from other
	// Secrets. uid is the UID of the existing component with this name, or empty if there is no such component.
	ReleaseLeft(ctx context.Context, name types.NamespacedName, uid types.UID) error
	// ReleaseVanished does the same as ReleaseLeft for a component that is not in the cache any more.
	ReleaseVanished(ctx context.Context, name types.NamespacedName) error
}

// Sources holds the fetched sources of components, until a pass takes them, and the turns of components to render.
type Sources interface {
	// BeginPass begins a pass. The returned function must be called at its end: it drops a turn that the pass did not
	// need, and a source that the pass did not take, except for a few components that wait for their turns.
	BeginPass(name types.NamespacedName) (end func())
	// ForgetSource drops the source of a component.
	ForgetSource(name types.NamespacedName)
}

// Reconcile makes one pass over one component. The pass never waits: a watch event starts the next pass, or the caller
// does after the returned delay. If the delay is zero, only a watch event starts the next pass.
func (r *Runner) Reconcile(ctx context.Context, name types.NamespacedName) (time.Duration, error) {
	state := r.States.Of(name)
	if wait := r.Limiter.Begin(name, &state.Schedule, r.MinInterval, r.Clock.Now()); wait > 0 {
		return wait, nil
	}
	defer r.Turns.EndPass(name)
	ctx, lease := r.Budget.Begin(ctx, name, func() { r.Wake(name) })
	defer lease.End()
	defer r.Sources.BeginPass(name)()
	inFlight := r.InFlight.Begin(name)
	defer r.Store.EndPass(ctx, name, inFlight)
	obj, err := r.Store.Load(ctx, name)
	if apierrors.IsNotFound(err) {
		lease.Succeed()
		return r.vanished(ctx, name, state), nil
	}
	if err != nil || state.isReleased(obj) {
		return 0, err
	}
	inFlight.Loaded(obj)
	r.Metrics.Restore(name, obj.GetStatus())
	ctx, span := r.Metrics.Span(ctx, r.Kind, name, obj.GetGeneration())
	defer span.End()

	c := &Component{Object: obj, State: state, needs: r.Dependencies.enter(obj, state)}
	loaded := obj.GetStatus().DeepCopy()
	state.unreported.resume(c)
	o, err := r.run(ctx, c)
	o = state.unreported.addTo(o)
	r.Records.RememberOwned(c)
	if err == nil && c.hasNoDependentLeft(o) {
		if err = r.release(ctx, c, o); err == nil {
			return 0, nil
		}
	}
	if inFlight.Interrupted(err) {
		return r.interrupt(ctx, c, inFlight, o), nil
	}
	if waits(lease, o, err) {
		inFlight.Finish(false)
		return r.wait(ctx, c, lease, o, err), nil
	}
	if err == nil {
		if after, ends := r.endsWithoutReport(ctx, c, loaded, o); ends {
			return after, nil
		}
	}
	if err = r.finish(ctx, c, o, err); inFlight.Interrupted(err) {
		return r.interrupt(ctx, c, inFlight, o), nil
	}
	after, err := r.report(ctx, c, loaded, o, err)
	if passerror.Interrupted(err) {
		return r.interrupt(ctx, c, inFlight, o), nil
	}
	inFlight.Finish(false)
	r.settleQuota(c, o)
	r.Limiter.Passed(name, r.Clock.Now())
	return state.Schedule.End(after, r.MinInterval, r.Clock.Now()), err
}

// run makes all changes that are possible without waiting. The caller reports an error in the status, unless the error
// interrupts the pass.
func (r *Runner) run(ctx context.Context, c *Component) (outcome.Outcome, error) {
	if err := r.Records.ReleaseLeft(ctx, c.Name(), c.GetUID()); err != nil {
		return outcome.Outcome{}, err
	}
	if err := r.call(ctx, PostRead, c); err != nil {
		return outcome.Outcome{}, err
	}
	c.Declared = r.Author.Declare(c.Object)
	waits := r.beginEventSources(ctx, c)
	switch {
	case c.IsDeleted():
		budget.Entire(ctx)
		if !r.isHeld(c) && len(c.State.unconfirmed.entries) == 0 {
			return outcome.Outcome{}, nil
		}
		r.tellOrphaning(c)
		if err := otherFinalizers(c, r.Finalizers); err != nil {
			return outcome.Outcome{}, err
		}
		return r.Delete(ctx, c)
	case components.Suspended(c.Object):
		r.Externals.pause(r.Owners.Known(c.Name()))
		return outcome.Outcome{}, status.Suspended(c.GetAnnotations()[r.Reconciler+"/"+metav1alpha1.AnnotationSuspendReason])
	}
	if waits {
		return outcome.Outcome{Outcome: result.Outcome{Observing: true}}, nil
	}
	if err := r.holdForHooks(ctx, c); err != nil {
		return outcome.Outcome{}, err
	}
	if err := r.call(ctx, PreReconcile, c); err != nil {
		return outcome.Outcome{}, err
	}
	c.Declared = r.Author.Declare(c.Object)
	o, err := r.Apply(ctx, c)
	if err == nil && o.Done() {
		err = r.call(ctx, PostReconcile, c)
	}
	return o, err
}

// tellOrphaning creates an Event if a client requested the deletion of a component with the propagation policy Orphan.
// The policy has no effect on dependents, because it concerns owner references, which dependents do not have.
func (r *Runner) tellOrphaning(c *Component) {
	if c.State.toldOrphaning == c.GetUID() || !c.State.Object.IsOrphaning(c.Object) {
		return
	}
	c.State.toldOrphaning = c.GetUID()
	r.Tell(c.Object, status.Warning("OrphanIgnored", "the deletion with the propagation policy Orphan (kubectl delete "+
		"--cascade=orphan) deletes the dependents all the same, except those with a delete policy that keeps them; to keep "+
		"the dependents that are not deleted yet, remove the finalizer "+r.Finalizers.Own+" from the component"))
}

// isHeld reports whether a component has one of our finalizers.
func (r *Runner) isHeld(c *Component) bool {
	return r.Finalizers.Holds(c.Object)
}

// holdForHooks adds our finalizer before the first dependent is created if the author has a hook PreDelete or
// PostDelete. So the hooks of a deletion can clean up what other hooks, such as PreReconcile, have created.
func (r *Runner) holdForHooks(ctx context.Context, c *Component) error {
	if len(r.Author.Hooks(PreDelete))+len(r.Author.Hooks(PostDelete)) == 0 || r.Finalizers.IsCurrent(c.Object) {
		return nil
	}
	if s := *c.GetStatus(); s.Revision == 0 {
		// The status gets the reconciler's name together with the finalizer. Without this name, a component with our
		// finalizer and without an inventory is treated as a component that lost its inventory.
		s.Reconciler = r.Reconciler
		c.SetStatus(s)
	}
	return r.Store.AddFinalizer(ctx, c.Object)
}

// requestOf returns the state of the component that this pass acts on. If the API server denied requests of the
// previous pass, the delay before the next retry starts again at its minimum when the returned value changes.
func (r *Runner) requestOf(c *Component) schedule.Request {
	return schedule.Request{
		UID:         c.GetUID(),
		Generation:  c.GetGeneration(),
		Deleting:    c.IsDeleted(),
		RequestedAt: requestedAt(c.Object, r.Reconciler),
	}
}

func requestedAt(obj client.Object, reconciler string) string {
	return obj.GetAnnotations()[reconciler+"/"+metav1alpha1.AnnotationReconcileRequested]
}

// acceptedGroups returns the groups that the annotation AnnotationAcceptUnknown lists.
func acceptedGroups(obj client.Object, reconciler string) []string {
	return strings.FieldsFunc(obj.GetAnnotations()[reconciler+"/"+metav1alpha1.AnnotationAcceptUnknown], func(r rune) bool {
		return r == ',' || r == ' '
	})
}

// acknowledged returns the value of AnnotationReconcileRequested if AnnotationReconcileAcknowledge has the same value,
// and an empty string otherwise.
func acknowledged(obj client.Object, reconciler string) string {
	request := requestedAt(obj, reconciler)
	if obj.GetAnnotations()[reconciler+"/"+metav1alpha1.AnnotationReconcileAcknowledge] != request {
		return ""
	}
	return request
}
