package reconcile

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/internal/telemetry"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/internal/externalkinds"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Pass applies or deletes the dependents of a component, as far as possible without waiting.
type Pass struct {
	Ports
	// Reconciler is the name of the reconciler.
	Reconciler string
	// Finalizers are the finalizers of the reconciler.
	Finalizers components.Finalizers
	Author     Author
	// Dependencies knows which components depend on each other. It is nil in a preview, in which nothing waits.
	Dependencies *Dependencies
	Metrics      *telemetry.PassMetrics
	Clock        clock.PassiveClock
	// Wake starts a pass over a component.
	Wake func(types.NamespacedName)
}

// Apply renders the dependents of a component and applies them, as far as possible without waiting. The steps before
// step 7 write only finalizers and a recovered inventory, so that the record of dependents is safe. No dependent is
// written before step 8.
//
// If the outcome has Asked set, the caller must call Apply again at once, with the same State: the dependents export
// values that the rendering asked for and did not get. At most maxEnds successive calls return such an outcome.
func (p *Pass) Apply(ctx context.Context, c *Component) (outcome.Outcome, error) {
	// 1. Check that the spec is valid.
	if err := p.Author.Validate(c.Object); err != nil {
		return repairs{pass: p, c: c}.invalid(ctx, err)
	}
	c.State.permitted = permissionOf(c.Declared)
	// 2. Determine the owner id of the component, and the cluster and the identity for requests about its dependents.
	w, err := p.acquire(ctx, c)
	if err != nil {
		return pending(err)
	}
	// 3. Read the inputs of the rendering (parameters, references and source), and compute one digest of them.
	if w.inputs, err = p.readInputs(ctx, c, w.target); err != nil {
		return repairs{p, c, w}.unread(ctx, err)
	}
	// 4. Load the recorded inventory of dependents. A lost inventory is recovered first.
	if w.recorded, err = p.load(ctx, c, w); err != nil {
		return outcome.Outcome{}, err
	}
	// 5. Refuse a change of the target cluster or namespace while there are dependents in the previous target.
	if err := w.target.CheckCluster(c.GetStatus(), len(w.recorded.Entries)); err != nil {
		return outcome.Outcome{}, err
	}
	if err := checkPlacement(c.GetStatus(), w); err != nil {
		return repairs{p, c, w}.only(ctx, err)
	}
	if len(w.recorded.Entries) > 0 {
		if err := p.Inventory.ProtectKubeconfig(ctx, c, w.owner); err != nil {
			return outcome.Outcome{}, err
		}
	}
	if err := (gate{p, c, w}).inputs(ctx); err != nil {
		return repairs{p, c, w}.only(ctx, err)
	}
	loop, err := p.feedbackOf(c, w)
	if err != nil {
		return outcome.Outcome{}, err
	}
	err = loop.hold(c, w.inputs, p.Clock.Now())
	if err == nil {
		err = p.holdBurst(c, w.inputs)
	}
	if err != nil {
		return repairs{p, c, w}.only(ctx, err)
	}
	return p.applyInputs(ctx, c, w, loop)
}

// work is what the first steps of a pass found: whose dependents it works on, and what is stored of them.
type work struct {
	owner  manifests.Owner
	target target.Target
	// inputs are those of the rendering. A deletion has none, because it renders nothing.
	inputs input.Inputs
	// recorded is the recorded inventory.
	recorded Loaded
}

// applyInputs makes the steps 6 to 8 of Apply. If the set cannot be rendered, only repairs are made. If a dependent
// exports another value than the rendering asked for and got, the outcome has Asked, and the values are kept for the
// next pass, which renders again.
func (p *Pass) applyInputs(ctx context.Context, c *Component, w work, loop feedback) (outcome.Outcome, error) {
	c.rendered, c.isRendered = nil, false
	// 6. Render the objects, and check the quota of the namespace, and the exports that the component publishes.
	known, lost := c.State.unreported.knownExports(c, w)
	set, err := p.render(ctx, c, w, known, lost)
	if err == nil {
		err = p.admit(ctx, c, set.Desired(), w.recorded.Entries)
	}
	if err != nil {
		c.State.unreported.unrendered(err)
		c.SetStatus(unrendered(c, w.inputs, err, p.Clock.Now()))
		return repairs{p, c, w}.only(ctx, err)
	}
	c.rendered, c.isRendered = set.Desired(), true
	// 7. Enter the revision into the status, and write what must be stored before any object of the revision is
	// applied.
	if err := p.begin(ctx, c, w, set); err != nil {
		return outcome.Outcome{}, err
	}
	// 8. Read live objects, plan, write the inventory and execute the plan, and repeat this until nothing is left to
	// do.
	request, due, err := p.applyRequest(ctx, c, w, set, loop.trigger)
	if err != nil {
		return pending(err)
	}
	o, err := p.Applier.Apply(ctx, w.target.Client, request)
	c.State.addCreated(w.target.Client, o)
	if o.Asked != nil && err == nil {
		c.State.renewals.add(known, o.Asked, p.Clock.Now())
		c.State.unreported.keepExports(o)
		return o, nil
	}
	if o.Inventory != nil && !o.Observing {
		c.observed, c.isPlanned = o.Observed, true
		p.Dependencies.enterChildren(c, w, o.Inventory)
	}
	if err == nil && len(o.Inventory) > 0 {
		// The applier calls Pass.writeInventory, which adds the finalizers, only before a write. The applier may have written
		// nothing, for example for the dependents of a component that was created again.
		err = p.addFinalizers(ctx, c, w.owner)
	}
	if err == nil {
		next, failure := applied(*c.GetStatus(), c, w.inputs, o)
		c.SetStatus(next)
		err = failure
	}
	o.Unwatched = append(o.Unwatched, lookup.Unwatched(w.target, lookerOf(w.owner))...)
	return p.explain(ctx, c, w.target, dueBy(o, due)), err
}

// Delete deletes the dependents of a component. Delete renders nothing: it deletes the objects of the recorded
// inventory.
func (p *Pass) Delete(ctx context.Context, c *Component) (outcome.Outcome, error) {
	w, err := p.acquire(ctx, c)
	if err != nil && !errors.Is(err, passerror.ErrObserving) && p.hasNothing(c) {
		// There is no dependent to delete, so it does not matter that the target cluster cannot be reached.
		return outcome.Outcome{}, p.afterDelete(ctx, c)
	}
	if err != nil {
		return pending(withHintGiveUp(err))
	}
	if w.recorded, err = p.load(ctx, c, w); err != nil {
		return outcome.Outcome{}, err
	}
	// The inventory names the components among the dependents, which do not block the deletion.
	if err := (gate{p, c, w}).deletion(ctx); err != nil {
		return pending(err)
	}
	if err := w.target.CheckCluster(c.GetStatus(), len(w.recorded.Entries)); err != nil {
		return outcome.Outcome{}, withHintGiveUp(err)
	}
	if len(w.recorded.Entries) > 0 {
		if err := p.Inventory.ProtectKubeconfig(ctx, c, w.owner); err != nil {
			return outcome.Outcome{}, err
		}
	}
	request, err := p.deleteRequest(ctx, c, w)
	if err != nil {
		return pending(err)
	}
	o, err := p.Applier.Delete(ctx, w.target.Client, request)
	c.State.addCreated(w.target.Client, o)
	o = p.explain(ctx, c, w.target, o)
	o.Unsearched = w.recorded.Unsearched
	if err != nil || !o.Done() {
		return o, err
	}
	if err := p.afterDelete(ctx, c); err != nil {
		return o, err
	}
	if len(o.Skipped) > 0 {
		p.Tell(c.Object, status.Warning("PhasesSkipped", "the component is deleted"+status.DescribeSkipped(o.Skipped)))
	}
	return o, nil
}

// explain returns the outcome with the causes of the dependents that are not ready for a while. It also schedules the
// pass that reads the causes.
func (p *Pass) explain(ctx context.Context, c *Component, t target.Target, o outcome.Outcome) outcome.Outcome {
	if p.Causes == nil || o.Observing {
		return o
	}
	state := &c.State.causes
	due, next := state.Note(o.Waiting, c.GetStatus(), p.Clock.Now())
	for _, object := range due {
		state.Learn(object, p.Causes.CauseOf(ctx, t.Client, object))
	}
	o.Waiting = state.Explain(o.Waiting)
	if !next.IsZero() && (o.NextDue.IsZero() || next.Before(o.NextDue)) {
		o.NextDue = next
	}
	return o
}

// hasNothing reports whether a component has no dependents, neither in its status nor in the memory of this process.
func (p *Pass) hasNothing(c *Component) bool {
	return components.RefOf(c.GetStatus()).Empty() &&
		!components.Damaged(c.Object, p.Finalizers) &&
		len(c.State.unconfirmed.entries) == 0 && len(c.State.unreported.inventory()) == 0
}

// pending converts the error passerror.ErrObserving, of a step that waits for a watch or a fetch, to an outcome with
// Observing set. pending returns all other errors unchanged.
func pending(err error) (outcome.Outcome, error) {
	if errors.Is(err, passerror.ErrObserving) {
		return outcome.Outcome{Outcome: result.Outcome{Observing: true}}, nil
	}
	return outcome.Outcome{}, err
}

// withHintGiveUp adds advice to the error of a deletion that cannot reach the target cluster: how to delete the
// component without its dependents. A person has to take this decision, because the dependents would remain in the
// target cluster.
func withHintGiveUp(err error) error {
	if passerror.Interrupted(err) || errors.Is(err, passerror.ErrObserving) {
		return err
	}
	hinted := *passerror.Of(err)
	hinted.Message += status.HintGiveUp
	return &hinted
}

// acquire returns the owner id of a component, and its target.
func (p *Pass) acquire(ctx context.Context, c *Component) (w work, err error) {
	if w.owner, err = p.Owners.Of(ctx, c.Object); err != nil {
		return w, err
	}
	w.target, err = p.Targets.Acquire(ctx, target.Request{Name: c.Name(), Owner: w.owner, Declaration: c.Target})
	p.Inventory.CheckKubeconfig(c, w.owner, w.target)
	w.target.Client = w.target.Client.For(c.Object)
	return w, err
}

func (p *Pass) readInputs(ctx context.Context, c *Component, t target.Target) (in input.Inputs, err error) {
	defer p.Metrics.Time(metrics.StepInputs)()
	declared, err := p.Author.Inputs(c.Object)
	if err == nil {
		declared.EventSources, err = eventSourceInputs(ctx, p.EventSources, c.Name())
	}
	if err != nil {
		return input.Inputs{}, err
	}
	in, c.State.Contents, err = p.Inputs.Read(ctx, c.Name(), declared, t, c.State.Contents)
	if err == nil && !c.State.knows(in.Digest) {
		_, err = in.LoadEventSources(ctx)
	}
	return in, waitingForExports(err, c.GetStatus().Revision > 0)
}

func (p *Pass) tell(c *Component, events []status.Event) {
	for _, e := range events {
		p.Tell(c.Object, e)
	}
}

// load returns the inventory with which the pass works: the recorded inventory, or the one that the last pass kept, and
// the unconfirmed dependents. If the component has recorded dependents and lost the finalizer, the finalizer is added
// again.
func (p *Pass) load(ctx context.Context, c *Component, w work) (Loaded, error) {
	recorded, err := p.Inventory.Load(ctx, c, w.owner, w.target)
	p.tell(c, recorded.Events)
	if err == nil {
		recorded = c.State.unreported.load(c, recorded)
		err = reserve(ctx, len(recorded.Entries))
	}
	if err != nil {
		return recorded, err
	}
	if recorded.RecordsFound {
		p.Rendering.Drop(c.Name())
	}
	if unconfirmed := c.State.unconfirmed.entries; len(unconfirmed) > 0 {
		all := plan.NewInventory(recorded.Entries)
		for key, entry := range unconfirmed {
			if _, known := all[key]; !known {
				all[key] = entry
			}
		}
		recorded.Entries = all.Sorted()
	}
	p.Dependencies.enterChildren(c, w, recorded.Entries)
	return recorded, nil
}

// render returns the set of objects that the generator renders from the inputs, and enters the messages of the
// generator into the status.
//
// known are the values of exports, and lost is set if the status with the values was lost.
func (p *Pass) render(
	ctx context.Context, c *Component, w work, known []metav1alpha1.AskedExport, lost bool,
) (rendering.Set, error) {
	defer p.Metrics.Time(metrics.StepGenerate)()
	set, err := p.Rendering.Render(ctx, rendering.Request{
		Component: c.Object, Status: c.GetStatus(), Owner: w.owner, Target: w.target, Inputs: w.inputs,
		Inventory: w.recorded.Entries, Exports: known, ExportsLost: lost,
		AllowEmpty: c.AllowEmpty, Adoption: c.Policies.Adoption, Ignore: c.Ignore, Records: &c.State.Inventory.Records,
		Kills: &c.State.kills, Requested: requestedAt(c.Object, p.Reconciler),
		CheckExternal: externalkinds.Check(c.Object, c.Externals),
	})
	if set.Lost != "" {
		p.Tell(c.Object, status.Warning("RenderedSetLost",
			"the dependents are rendered again; existing objects keep their values until the inputs change, "+set.Lost))
	}
	if results, called := set.Results(); called {
		c.SetStatus(status.WithGeneratorResults(*c.GetStatus(), results, c.GetGeneration(), p.Clock.Now()))
	}
	if err == nil {
		err = reserve(ctx, len(set.Objects))
	}
	return set, err
}

// begin enters the revision of a rendered set into the status. begin also writes pinned values and the objects of
// deletion phases to Secrets, because later passes cannot render them again. If this fails, the status has the previous
// revision again, whose records exist. The records that the set replaces are deleted after the revision has begun.
func (p *Pass) begin(ctx context.Context, c *Component, w work, set rendering.Set) error {
	if err := p.Inventory.Announce(ctx, c, set); err != nil {
		return err
	}
	before, now := *c.GetStatus().DeepCopy(), p.Clock.Now()
	next, err := beginRevision(before, c, w, set, now)
	c.State.remember(&before, w.inputs)
	c.SetStatus(next)
	if err == nil {
		err = p.Inventory.Begin(ctx, c, w.owner, set)
	}
	if err != nil {
		c.SetStatus(withoutRevision(*c.GetStatus(), before))
		return err
	}
	if c.GetStatus().InputDigest != before.InputDigest {
		p.Metrics.BeginInputs(c.Name(), now)
	}
	return p.Inventory.Begun(ctx, c, w.owner, set)
}

// otherFinalizers returns an error while a component that is being deleted has finalizers of other controllers, and nil
// otherwise. ours are the finalizers of this reconciler.
func otherFinalizers(c *Component, ours components.Finalizers) error {
	others := ours.Others(c.Object)
	if len(others) == 0 {
		return nil
	}
	return &passerror.Error{
		Reason: metav1alpha1.ReasonForeignFinalizers, State: metav1alpha1.StateDeleting, Waits: true,
		Message: "dependents are not deleted until other controllers have removed their finalizers: " +
			strings.Join(others, ", "),
	}
}
