package reconcile

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/apitext"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/schedule"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/internal/telemetry"
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
	// Sources has the fetched sources of components.
	Sources Sources
	// Memories hold the state that the process keeps for each component.
	Memories *Memories
	// Kind is the kind of the components, for traces.
	Kind string
	// MinInterval is the shortest time between two passes over the same component; zero means no limit.
	MinInterval time.Duration
	// Limiter limits the rate of passes over each component, in addition to MinInterval.
	Limiter schedule.Limit
	// TellDependent creates an event about a dependent of a component; nil if dependents get no events.
	TellDependent func(obj components.Object, e status.DependentEvent)
	// Forgetters drop what the process keeps of a component that does not exist any more.
	Forgetters *Forgetters
}

// Records deletes the Secrets in which parts of the state of a component are recorded, and removes finalizers from
// Secrets.
type Records interface {
	// DeleteStale deletes Secrets with former inventories, which the status of the component does not name any more.
	DeleteStale(ctx context.Context, c *Component) error
	// End deletes all records and finalizers of a component whose dependents are gone.
	End(ctx context.Context, c *Component, owner manifests.Owner) error
	// RememberOwned stores in memory, at the end of a pass, which Secrets a component owns.
	RememberOwned(c *Component)
	// ReleaseLeft deletes the records of a deleted component of the same name, and removes its finalizers from other
	// Secrets. uid is the UID of the existing component with this name, or empty if there is no such component.
	ReleaseLeft(ctx context.Context, name types.NamespacedName, uid types.UID) error
	// ReleaseVanished does the same as ReleaseLeft for a component that is not in the cache any more.
	ReleaseVanished(ctx context.Context, name types.NamespacedName) error
}

// Sources has the fetched sources of components, until a pass takes them, and the turns of components to render.
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
	memory := r.Memories.Of(name)
	if wait := r.Limiter.Begin(name, &memory.Schedule, r.MinInterval, r.Clock.Now()); wait > 0 {
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
		return r.vanished(ctx, name, memory), nil
	}
	if err != nil || memory.isReleased(obj) {
		return 0, err
	}
	inFlight.Loaded(obj)
	r.Metrics.Restore(name, obj.GetStatus())
	ctx, span := r.Metrics.Span(ctx, r.Kind, name, obj.GetGeneration())
	defer span.End()

	c := &Component{Object: obj, Memory: memory}
	loaded := obj.GetStatus().DeepCopy()
	memory.unreported.resume(c)
	o, err := r.run(ctx, c)
	o = memory.unreported.addTo(o)
	r.Records.RememberOwned(c)
	if err == nil && c.isGone(o) {
		if err = r.release(ctx, c, o); err == nil {
			return 0, nil
		}
	}
	if inFlight.Interrupted(err) {
		return r.interrupt(ctx, c, inFlight, o), nil
	}
	if waits(lease, o, err) {
		inFlight.Finish(false)
		return r.wait(ctx, c, lease, o), nil
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
	return memory.Schedule.End(after, r.MinInterval, r.Clock.Now()), err
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
	waits := r.beginEvents(ctx, c)
	switch {
	case c.IsDeleted():
		budget.Entire(ctx)
		if !r.isHeld(c) && len(c.Memory.unconfirmed.entries) == 0 {
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

// tellOrphaning creates an event if a client requested the deletion of a component with the propagation policy Orphan.
// The policy has no effect on dependents, because it concerns owner references, which dependents do not have.
func (r *Runner) tellOrphaning(c *Component) {
	if c.Memory.toldOrphaning == c.GetUID() || !c.Memory.Object.IsOrphaning(c.Object) {
		return
	}
	c.Memory.toldOrphaning = c.GetUID()
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

// observing ends a pass that did nothing because the first list of a watch is not complete. inTime is false if the
// component's timeout is over.
func (r *Runner) observing(
	ctx context.Context, c *Component, loaded *metav1alpha1.Status,
) (after time.Duration, inTime bool) {
	next, memory := *c.GetStatus(), &c.Memory.Schedule
	if !next.ProgressingSince.Equal(r.Store.Persisted(c.Object, loaded).ProgressingSince) {
		// This pass began a new revision, but its start time is not stored in the status. So the timeout is measured
		// from the first pass that waited for the watch.
		next.ProgressingSince = nil
	}
	timeout := r.Author.Intervals(c.Object).Timeout
	if after, inTime = memory.Observe(next.ProgressingSince, timeout, r.Clock.Now()); inTime {
		r.Metrics.Pass(ctx, telemetry.ResultObserving, nil)
		return after, true
	}
	if next.ProgressingSince == nil {
		next.ProgressingSince = new(metav1.NewTime(memory.ObservingSince()))
	}
	c.SetStatus(next)
	return 0, false
}

// endsWithoutReport ends a pass that the next one continues, because an export has another value than its rendering got,
// or because a watch is not complete.
func (r *Runner) endsWithoutReport(
	ctx context.Context, c *Component, loaded *metav1alpha1.Status, o outcome.Outcome,
) (after time.Duration, ends bool) {
	if o.Asked != nil {
		r.again(ctx, c, loaded, o)
		return 0, true
	}
	if !o.Observing {
		return 0, false
	}
	if after, ends = r.observing(ctx, c, loaded); ends {
		// A pass before this one may have made changes. The wait can be long, and the operator can stop meanwhile.
		r.tellChanges(ctx, c, o)
	}
	return after, ends
}

// again ends a pass whose rendering has outdated values of exports. The next pass begins at once, and continues with what
// this one kept.
func (r *Runner) again(
	ctx context.Context, c *Component, loaded *metav1alpha1.Status, o outcome.Outcome,
) {
	c.Memory.unreported.keepStatus(c, loaded, r.Store.Persisted(c.Object, loaded), o)
	r.Metrics.Pass(ctx, telemetry.ResultObserving, nil)
	c.Memory.Schedule.Again()
	if ctx.Err() != nil {
		// The operator is stopping, so that there is no next pass that could tell the changes.
		r.tellChanges(ctx, c, o)
		return
	}
	r.Wake(c.Name())
}

// report writes the status if it changed, creates one event for the pass, and returns the delay before the next pass.
// If the write fails with a conflict, report creates no event; see interrupt.
func (r *Runner) report(
	ctx context.Context, c *Component, loaded *metav1alpha1.Status, o outcome.Outcome, failure error,
) (time.Duration, error) {
	in := r.Author.Intervals(c.Object)
	unrecorded := r.keepInventory(ctx, c, loaded, o)
	if passerror.Interrupted(unrecorded) {
		return 0, unrecorded
	}
	if failure == nil {
		failure = unrecorded
	}
	f, now := passerror.Of(failure), r.Clock.Now()
	next, v := status.Next(*c.GetStatus(), status.Report{
		Component:  r.Owners.Known(c.Name()).Component(),
		Generation: c.GetGeneration(), Deleting: c.IsDeleted(), Outcome: o, Unreported: c.Memory.unreported.adoptions,
		Failure: f, KeepCounts: unrecorded != nil,
		Timeout: in.Timeout, Acknowledged: acknowledged(c.Object, r.Reconciler), Now: now,
		StaleInputs: r.staleInputs(c), Finalizers: r.Finalizers.Named(r.Reconciler),
	})
	c.SetStatus(next)
	if before := r.Store.Persisted(c.Object, loaded); !equality.Semantic.DeepEqual(before, &next) {
		if err := r.writeStatus(ctx, c, components.RefOf(before)); err != nil {
			return 0, r.unwritten(ctx, c, o, err)
		}
		c.Memory.confirm()
		if next.Revision > 0 {
			c.Memory.unreported.adoptions = nil
		}
	}
	before := c.Memory.unreported.before(loaded)
	c.Memory.unreported.reported(f == nil && !o.Observing)
	r.Metrics.End(ctx, c.Name(), telemetry.PassEnd{Outcome: o, Failure: f, Verdict: v, Status: c.GetStatus(), Now: now})
	r.Tell(c.Object, status.EventOf(before, c.GetStatus(), o.Changes, v))
	r.Tell(c.Object, status.OverrideEvent(before, c.GetStatus()))
	r.tellDependents(c, o)
	logPass(ctx, before, c.GetStatus(), o.Changes)
	after := c.Memory.Schedule.Next(schedule.Pass{
		Outcome: o, Failure: f, State: v.State, Reason: v.Reason, ProgressingSince: c.GetStatus().ProgressingSince,
		Request: r.requestOf(c), Now: r.Clock.Now(),
	}, in)
	if f != nil && f.Reason == metav1alpha1.ReasonNewerRecord {
		// A newer version of the operator wrote the record. This version cannot know which Secrets the newer version
		// needs, so it deletes none of them.
		return after, nil
	}
	if err := r.Records.DeleteStale(ctx, c); err != nil {
		log.FromContext(ctx).Info("stale Secrets are deleted later", "cause", err.Error())
		after = schedule.Earlier(after, in.Retry)
	}
	return after, nil
}

// keepInventory enters the inventory at the end of a pass into the status, or writes it to Secrets if it is too large
// for the status. A pass without an inventory, such as one that failed, has the one that it recorded itself, or that its
// predecessor kept.
func (r *Runner) keepInventory(
	ctx context.Context,
	c *Component,
	loaded *metav1alpha1.Status,
	o outcome.Outcome,
) error {
	entries := o.Inventory
	if entries == nil || o.Observing {
		entries = c.Memory.unreported.inventory()
	}
	if entries == nil {
		return nil
	}
	return r.Inventory.Record(ctx, c, components.RefOf(r.Store.Persisted(c.Object, loaded)), entries)
}

// tellDependents creates the events about dependents, if the author wants them.
func (r *Runner) tellDependents(c *Component, o outcome.Outcome) {
	if r.TellDependent == nil {
		return
	}
	for _, e := range c.Memory.toldDependents.Events(c.GetStatus(), o) {
		r.TellDependent(c.Object, e)
	}
}

func (r *Runner) writeStatus(ctx context.Context, c *Component, recorded components.InventoryRef) error {
	defer r.Metrics.Time(metrics.StepStatus)()
	return r.Store.WriteStatus(ctx, c.Object, recorded)
}

// unwritten ends a pass that could not write the status. If the component does not exist any more, the returned error
// is a conflict, so that the pass ends without a report. If a policy or a webhook refuses the status, only an event can
// say so.
func (r *Runner) unwritten(ctx context.Context, c *Component, o outcome.Outcome, err error) error {
	if apierrors.IsNotFound(err) {
		return r.Store.Conflict(c.Name(), "it does not exist any more")
	}
	if !passerror.Interrupted(err) {
		r.Metrics.Pass(ctx, telemetry.ResultFailed, err)
		c.Memory.unreported.unwritten()
		r.tellChanges(ctx, c, o)
	}
	if by := apitext.Refuser(err); by != "" {
		r.Tell(c.Object, status.Warning("StatusRefused", by+" refuses the status of the component, so the status is "+
			"outdated; "+records.Permit))
	}
	return err
}

// interrupt ends a pass without a report, because another client wrote the component, or the operator is stopping. The
// next pass starts from the new state, at once if the component has changed. The event for the changes of this pass is
// created here, because no other pass knows about them.
func (r *Runner) interrupt(
	ctx context.Context,
	c *Component,
	inFlight *components.Pass,
	o outcome.Outcome,
) time.Duration {
	r.Metrics.Pass(ctx, telemetry.ResultInterrupted, nil)
	inFlight.Finish(true)
	r.tellChanges(ctx, c, o)
	memory, now := &c.Memory.Schedule, r.Clock.Now()
	r.Limiter.Passed(c.Name(), now)
	if !inFlight.Superseded() {
		return memory.End(memory.Retry(), r.MinInterval, now)
	}
	memory.ResetRetry()
	r.Wake(c.Name())
	return memory.End(0, r.MinInterval, now)
}

// tellChanges creates the event and the log line for the changes of a pass whose status was not written. Adoptions are
// kept for the next write of the status.
func (r *Runner) tellChanges(ctx context.Context, c *Component, o outcome.Outcome) {
	s := c.GetStatus()
	c.Memory.unreported.told(o.Changes)
	r.Tell(c.Object, status.ChangesEvent(s, o.Changes))
	logPass(ctx, s, s, o.Changes)
}

// logPass logs a pass in one line, if it changed dependents or the state of the component.
func logPass(ctx context.Context, before, after *metav1alpha1.Status, changes []result.Change) {
	if line := status.LogLine(before, after, changes); line != nil {
		log.FromContext(ctx).Info("reconciled", line...)
	}
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
