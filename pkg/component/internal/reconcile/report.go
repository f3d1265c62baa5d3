package reconcile

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/apitext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/schedule"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/telemetry"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// observing ends a pass that did nothing because the first list of a watch is not complete. inTime is false if the
// component's timeout is over.
func (r *Runner) observing(
	ctx context.Context, c *Component, loaded *metav1alpha1.Status,
) (after time.Duration, inTime bool) {
	next, state := *c.GetStatus(), &c.State.Schedule
	if !next.ProgressingSince.Equal(r.Store.Persisted(c.Object, loaded).ProgressingSince) {
		// This pass began a new revision, but its start time is not stored in the status. So the timeout is measured
		// from the first pass that waited for the watch.
		next.ProgressingSince = nil
	}
	timeout := r.Author.Intervals(c.Object).Timeout
	if after, inTime = state.Observe(next.ProgressingSince, timeout, r.Clock.Now()); inTime {
		r.Metrics.Pass(ctx, telemetry.ResultObserving, nil)
		return after, true
	}
	if next.ProgressingSince == nil {
		next.ProgressingSince = new(metav1.NewTime(state.ObservingSince()))
	}
	c.SetStatus(next)
	return 0, false
}

// endsWithoutReport ends a pass that the next one continues, because an export has another value than its rendering
// got, or because a watch is not complete.
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

// again ends a pass whose rendering contains outdated values of exports. The next pass begins at once, and continues
// with what this one kept.
func (r *Runner) again(
	ctx context.Context, c *Component, loaded *metav1alpha1.Status, o outcome.Outcome,
) {
	c.State.unreported.keepStatus(c, loaded, r.Store.Persisted(c.Object, loaded), o)
	r.Metrics.Pass(ctx, telemetry.ResultObserving, nil)
	c.State.Schedule.Again()
	if ctx.Err() != nil {
		// The operator is stopping, so that there is no next pass that could tell the changes.
		r.tellChanges(ctx, c, o)
		return
	}
	r.Wake(c.Name())
}

// report writes the status if it changed, creates one Event for the pass, and returns the delay before the next pass.
// If the write fails with a conflict, report creates no Event; see interrupt.
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
		Generation: c.GetGeneration(), Deleting: c.IsDeleted(), Outcome: o, Unreported: c.State.unreported.adoptions,
		Failure: f, KeepCounts: unrecorded != nil,
		Timeout: in.Timeout, Acknowledged: acknowledged(c.Object, r.Reconciler), Now: now,
		StaleInputs: r.staleInputs(c), Finalizers: r.Finalizers.Named(r.Reconciler),
	})
	c.SetStatus(next)
	if before := r.Store.Persisted(c.Object, loaded); !equality.Semantic.DeepEqual(before, &next) {
		if err := r.writeStatus(ctx, c, components.RefOf(before)); err != nil {
			return 0, r.unwritten(ctx, c, o, err)
		}
		c.State.confirm()
		if next.Revision > 0 {
			c.State.unreported.adoptions = nil
		}
	}
	before := c.State.unreported.before(loaded)
	c.State.unreported.reported(f == nil && !o.Observing)
	r.Metrics.End(ctx, c.Name(), telemetry.PassEnd{Outcome: o, Failure: f, Result: v, Status: c.GetStatus(), Now: now})
	r.Tell(c.Object, status.EventOf(before, c.GetStatus(), o.Changes, v))
	r.Tell(c.Object, status.OverrideEvent(before, c.GetStatus()))
	r.tellDependents(c, o)
	logPass(ctx, before, c.GetStatus(), o.Changes)
	after := c.State.Schedule.Next(schedule.Result{
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
// for the status. A pass without an inventory, such as one that failed, has the one that it wrote itself, or that its
// predecessor kept.
func (r *Runner) keepInventory(
	ctx context.Context,
	c *Component,
	loaded *metav1alpha1.Status,
	o outcome.Outcome,
) error {
	entries := o.Inventory
	if entries == nil || o.Observing {
		entries = c.State.unreported.inventory()
	}
	if entries == nil {
		return nil
	}
	return r.Inventory.WriteInventory(ctx, c, components.RefOf(r.Store.Persisted(c.Object, loaded)), entries)
}

// tellDependents creates the Events about dependents, if the author wants them.
func (r *Runner) tellDependents(c *Component, o outcome.Outcome) {
	if r.TellDependent == nil {
		return
	}
	for _, e := range c.State.toldDependents.Events(c.GetStatus(), o) {
		r.TellDependent(c.Object, e)
	}
}

func (r *Runner) writeStatus(ctx context.Context, c *Component, recorded components.InventoryRef) error {
	defer r.Metrics.Time(metrics.StepStatus)()
	return r.Store.WriteStatus(ctx, c.Object, recorded)
}

// unwritten ends a pass that could not write the status. If the component does not exist any more, the returned error
// is a conflict, so that the pass ends without a report. If a policy or a webhook refuses the status, only an Event can
// say so.
func (r *Runner) unwritten(ctx context.Context, c *Component, o outcome.Outcome, err error) error {
	if apierrors.IsNotFound(err) {
		return r.Store.Conflict(c.Name(), "it does not exist any more")
	}
	if !passerror.Interrupted(err) {
		r.Metrics.Pass(ctx, telemetry.ResultFailed, err)
		c.State.unreported.unwritten()
		r.tellChanges(ctx, c, o)
	}
	if by := apitext.Refuser(err); by != "" {
		r.Tell(c.Object, status.Warning("StatusRefused", by+" refuses the status of the component, so the status is "+
			"outdated; "+records.Permit))
	}
	return err
}

// interrupt ends a pass without a report, because another client wrote the component, or the operator is stopping. The
// next pass starts from the new state, at once if the component has changed. The Event for the changes of this pass is
// created here, because no other pass knows about them.
func (r *Runner) interrupt(
	ctx context.Context,
	c *Component,
	inFlight *components.InFlight,
	o outcome.Outcome,
) time.Duration {
	r.Metrics.Pass(ctx, telemetry.ResultInterrupted, nil)
	inFlight.Finish(true)
	r.tellChanges(ctx, c, o)
	state, now := &c.State.Schedule, r.Clock.Now()
	r.Limiter.Passed(c.Name(), now)
	if !inFlight.Superseded() {
		return state.End(state.Retry(), r.MinInterval, now)
	}
	state.ResetRetry()
	r.Wake(c.Name())
	return state.End(0, r.MinInterval, now)
}

// tellChanges creates the Event and the log line for the changes of a pass whose status was not written. Adoptions are
// kept for the next write of the status.
func (r *Runner) tellChanges(ctx context.Context, c *Component, o outcome.Outcome) {
	s := c.GetStatus()
	c.State.unreported.told(o.Changes)
	r.Tell(c.Object, status.ChangesEvent(s, o.Changes))
	logPass(ctx, s, s, o.Changes)
}

// logPass logs a pass in one line, if it changed dependents or the state of the component.
func logPass(ctx context.Context, before, after *metav1alpha1.Status, changes []result.Change) {
	if line := status.LogLine(before, after, changes); line != nil {
		log.FromContext(ctx).Info("reconciled", line...)
	}
}
