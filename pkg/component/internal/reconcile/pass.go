package reconcile

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
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
	Metrics    *telemetry.PassMetrics
	Clock      clock.PassiveClock
	// Wake starts a pass over a component.
	Wake func(types.NamespacedName)
}

// Apply renders the dependents of a component and applies them, as far as possible without waiting. The steps before
// step 7 write only finalizers and a recovered inventory, so that the record of dependents is safe. No dependent is
// written before step 8.
func (p *Pass) Apply(ctx context.Context, c *Component) (outcome.Outcome, error) {
	// 1. Check that the spec is valid.
	if err := p.Author.Validate(c.Object); err != nil {
		return outcome.Outcome{}, err
	}
	// 2. Determine the owner id of the component, and the cluster and the identity for requests about its dependents.
	owner, t, err := p.acquire(ctx, c)
	if err != nil {
		return pending(err)
	}
	// 3. Read the inputs of the rendering (parameters, references and source), and compute one digest of them.
	in, err := p.readInputs(ctx, c, t)
	if err != nil {
		return p.unread(ctx, c, owner, t, err)
	}
	// 4. Load the recorded inventory of dependents. A lost inventory is recovered first.
	recorded, err := p.load(ctx, c, owner, t)
	if err != nil {
		return outcome.Outcome{}, err
	}
	// 5. Refuse a change of the target cluster or namespace while there are dependents in the former target.
	if err := checkPlacement(c.GetStatus(), t, in, recorded.Entries); err != nil {
		return outcome.Outcome{}, err
	}
	if len(recorded.Entries) > 0 {
		if err := p.Inventory.ProtectKubeconfig(ctx, c, owner); err != nil {
			return outcome.Outcome{}, err
		}
	}
	loop, err := p.feedbackOf(c, t, in, recorded.Entries)
	if err != nil {
		return outcome.Outcome{}, err
	}
	if err := loop.hold(c, in, p.Clock.Now()); err != nil {
		return p.repairOnly(ctx, c, owner, t, recorded.Entries, err)
	}
	// Steps 6 to 8 are repeated while the dependents export values that the rendering asked for and did not get.
	for r := firstRound(c, recorded, loop); ; {
		o, err := p.applyRound(ctx, c, owner, t, in, r)
		if err != nil || o.Renewed == nil {
			c.Memory.renewals.end(o, err)
			return o, err
		}
		c.Memory.renewals.add(r.exports, o.Renewed.Exports, p.Clock.Now())
		r = r.next(o)
	}
}

// applyRound renders the dependents of a component, and applies them until a value changes that the rendering asked
// for.
func (p *Pass) applyRound(
	ctx context.Context, c *Component, owner manifests.Owner, t target.Target, in input.Inputs, r round,
) (outcome.Outcome, error) {
	entries := r.recorded.Entries
	c.rendered, c.isRendered = nil, false
	// 6. Render the objects, and check the quota of the namespace, and the exports that the component publishes.
	set, err := p.render(ctx, c, owner, t, in, r)
	if err == nil {
		err = p.admit(ctx, c, set.Desired(), entries)
	}
	if err != nil {
		p.unrendered(c, in, err)
		o, err := p.repairOnly(ctx, c, owner, t, entries, err)
		o.Changes = append(r.changes, o.Changes...)
		return o, err
	}
	c.rendered, c.isRendered = set.Desired(), true
	// 7. Enter the revision into the status, and record what must be recorded before any object of the revision is
	// applied.
	if err := p.begin(ctx, c, owner, t, in, set, entries); err != nil {
		return outcome.Outcome{}, err
	}
	// 8. Read live objects, plan, record the inventory and execute the plan, and repeat this until nothing is left to
	// do.
	request := p.newRequest(c, owner, entries)
	request.Desired, request.Needs = c.rendered, needsOf(c, t, in.Declaration.References)
	request.Phases = set.Phases()
	decided, err := conditions{p.Author, c, t, in}.of(ctx, set)
	if err != nil {
		return outcome.Outcome{}, err
	}
	request = request.Decide(ctx, decided)
	request.Managed, request.Exports = in.Managed, c.Exports
	request.Revision, request.Rendition = c.GetStatus().Revision, c.GetStatus().Rendition
	if request.Trigger, err = triggerOf(c.GetGeneration(), in); err != nil {
		return outcome.Outcome{}, err
	}
	if request.RepairNonce, err = repairNonce(c.Object, p.Reconciler, request.Trigger); err != nil {
		return outcome.Outcome{}, err
	}
	if request.Externals, err = p.Externals.begin(ctx, c, p.Reconciler, externalPass{
		owner: owner, target: t, desired: request.Desired, inventory: entries, trigger: request.Trigger,
	}); err != nil {
		return pending(err)
	}
	request, due := p.withAsked(c, request, set, r)
	o, err := p.Applier.Apply(ctx, t.Client, request)
	c.Memory.addCreated(t.Client, o)
	if o.Inventory != nil && !o.Observing {
		c.observed, c.isPlanned = o.Observed, true
	}
	if o.Renewed != nil {
		return o, err
	}
	if err == nil && len(o.Inventory) > 0 {
		// Dependents that are recorded without a write did not need Record, for example those of a component that was
		// created again.
		err = p.hold(ctx, c, owner)
	}
	if err == nil {
		err = applied(c, in, o)
	}
	o.Changes = append(r.changes, o.Changes...)
	o.Unwatched = append(o.Unwatched, lookup.Unwatched(t, p.looker(owner))...)
	return p.explain(ctx, c, t, dueBy(o, due)), err
}

// Delete deletes the dependents of a component. Delete renders nothing: it deletes the objects of the recorded
// inventory.
func (p *Pass) Delete(ctx context.Context, c *Component) (outcome.Outcome, error) {
	owner, t, err := p.acquire(ctx, c)
	if err != nil && !errors.Is(err, passerror.ErrObserving) && p.hasNothing(c) {
		// There is no dependent to delete, so it does not matter that the target cluster cannot be reached.
		return outcome.Outcome{}, p.afterDelete(ctx, c)
	}
	if err != nil {
		return pending(withHintGiveUp(err))
	}
	recorded, err := p.load(ctx, c, owner, t)
	if err != nil {
		return outcome.Outcome{}, err
	}
	if err := t.CheckCluster(c.GetStatus(), len(recorded.Entries)); err != nil {
		return outcome.Outcome{}, withHintGiveUp(err)
	}
	if len(recorded.Entries) > 0 {
		if err := p.Inventory.ProtectKubeconfig(ctx, c, owner); err != nil {
			return outcome.Outcome{}, err
		}
	}
	request, err := p.newDeletion(ctx, c, owner, t, recorded.Entries)
	if err != nil {
		return pending(err)
	}
	o, err := p.Applier.Delete(ctx, t.Client, request)
	c.Memory.addCreated(t.Client, o)
	o = p.explain(ctx, c, t, o)
	o.Unsearched = recorded.Unsearched
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

// newDeletion returns the request for the deletion of the dependents.
func (p *Pass) newDeletion(
	ctx context.Context, c *Component, owner manifests.Owner, t target.Target, entries []metav1alpha1.InventoryEntry,
) (request applier.Request, err error) {
	request = p.newRequest(c, owner, entries)
	request.Needs = needsOf(c, t, nil)
	request.Before = func(ctx context.Context) error { return p.preDelete(ctx, c) }
	request.AcceptUnknown = acceptedGroups(c.Object, p.Reconciler)
	// In a deletion, only a request for a pass runs the failed objects of a phase again.
	if request.Trigger, err = repairNonce(c.Object, p.Reconciler, ""); err != nil {
		return request, err
	}
	if request.Managed, err = recordedTypes(c.GetStatus()); err != nil {
		return request, err
	}
	var events []status.Event
	request.PreDelete, request.PostDelete, events, err = p.Inventory.Phases(ctx, c, request, t)
	p.tell(c, events)
	if err != nil {
		return request, err
	}
	request.Externals, err = p.Externals.begin(ctx, c, p.Reconciler, externalPass{
		owner: owner, target: t, inventory: entries, trigger: request.Trigger,
	})
	return request, err
}

// explain returns the outcome with the causes of the dependents that are not ready for a while. It also schedules the
// pass that reads the causes.
func (p *Pass) explain(ctx context.Context, c *Component, t target.Target, o outcome.Outcome) outcome.Outcome {
	if p.Causes == nil || o.Observing {
		return o
	}
	memory := &c.Memory.causes
	due, next := memory.Note(o.Waiting, c.GetStatus(), p.Clock.Now())
	for _, object := range due {
		memory.Learn(object, p.Causes.CauseOf(ctx, t.Client, object))
	}
	o.Waiting = memory.Explain(o.Waiting)
	if !next.IsZero() && (o.NextDue.IsZero() || next.Before(o.NextDue)) {
		o.NextDue = next
	}
	return o
}

// hasNothing reports whether a component has no dependents, neither in its status nor in the memory of this process.
func (p *Pass) hasNothing(c *Component) bool {
	return components.RefOf(c.GetStatus()).Empty() &&
		!components.Damaged(c.Object, p.Finalizers) &&
		len(c.Memory.unconfirmed.entries) == 0
}

// pending converts the error passerror.ErrObserving, of a step that waits for a watch or a fetch, to an outcome with
// Observing set. pending returns all other errors unchanged.
func pending(err error) (outcome.Outcome, error) {
	if errors.Is(err, passerror.ErrObserving) {
		return outcome.Outcome{Observing: true}, nil
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
func (p *Pass) acquire(ctx context.Context, c *Component) (manifests.Owner, target.Target, error) {
	owner, err := p.Owners.Of(ctx, c.Object)
	if err != nil {
		return owner, target.Target{}, err
	}
	t, err := p.Targets.Acquire(ctx, target.Request{Name: c.Name(), Owner: owner, Declaration: c.Target})
	p.Inventory.CheckKubeconfig(c, owner, t)
	t.Client = t.Client.For(c.Object)
	return owner, t, err
}

func (p *Pass) readInputs(ctx context.Context, c *Component, t target.Target) (in input.Inputs, err error) {
	defer p.Metrics.Time(metrics.StepInputs)()
	declared, err := p.Author.Inputs(c.Object)
	if err == nil {
		declared.Events, err = eventInputs(ctx, p.Events, c.Name())
	}
	if err != nil {
		return input.Inputs{}, err
	}
	in, c.Memory.Contents, err = p.Inputs.Read(ctx, c.Name(), declared, t, c.Memory.Contents)
	if err == nil && !c.Memory.knows(in.Digest) {
		_, err = in.LoadEvents(ctx)
	}
	return in, waitingForExports(err, c.GetStatus().Revision > 0)
}

func (p *Pass) tell(c *Component, events []status.Event) {
	for _, e := range events {
		p.Tell(c.Object, e)
	}
}

// load returns the recorded inventory and adds the unconfirmed dependents to it. If the component has recorded
// dependents and lost the finalizer, the finalizer is added again.
func (p *Pass) load(ctx context.Context, c *Component, owner manifests.Owner, t target.Target) (Loaded, error) {
	recorded, err := p.Inventory.Load(ctx, c, owner, t)
	p.tell(c, recorded.Events)
	if err == nil {
		err = reserve(ctx, len(recorded.Entries))
	}
	if err != nil {
		return recorded, err
	}
	if recorded.RecordsFound {
		p.Rendering.Drop(c.Name())
	}
	if unconfirmed := c.Memory.unconfirmed.entries; len(unconfirmed) > 0 {
		all := plan.NewInventory(recorded.Entries)
		for key, entry := range unconfirmed {
			if _, known := all[key]; !known {
				all[key] = entry
			}
		}
		recorded.Entries = all.Sorted()
	}
	return recorded, nil
}

// render returns the set of objects that the generator renders from the inputs, and enters the messages of the
// generator into the status.
func (p *Pass) render(
	ctx context.Context, c *Component, owner manifests.Owner, t target.Target, in input.Inputs, r round,
) (rendering.Set, error) {
	defer p.Metrics.Time(metrics.StepGenerate)()
	set, err := p.Rendering.Render(ctx, rendering.Request{
		Component: c.Object, Status: c.GetStatus(), Owner: owner, Target: t, Inputs: in,
		Inventory: r.recorded.Entries, Exports: r.exports, ExportsLost: r.lost,
		AllowEmpty: c.AllowEmpty, Adoption: c.Policies.Adoption, Ignore: c.Ignore, Records: &c.Memory.Inventory.Records,
		Kills: &c.Memory.kills, Requested: requestedAt(c.Object, p.Reconciler),
		CheckExternal: externalkinds.Check(c.Object, c.Externals),
	})
	if set.Lost != "" {
		p.Tell(c.Object, status.Warning("RenderedSetLost",
			"the dependents are rendered again; existing objects keep their values until the inputs change, deleted objects "+
				"get new values: "+set.Lost))
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
// deletion phases to Secrets, because later passes cannot render them again.
func (p *Pass) begin(
	ctx context.Context, c *Component, owner manifests.Owner, t target.Target, in input.Inputs, set rendering.Set,
	inventory []metav1alpha1.InventoryEntry,
) error {
	before, now := *c.GetStatus().DeepCopy(), p.Clock.Now()
	next, err := nextRevision(before, t, in, set, inventory, now)
	next.Reconciler, next.Identity = p.Reconciler, components.Identity(owner.Cluster, c.GetUID())
	if before.Identity != next.Identity {
		// The values and the generation are those of a component in a backup.
		next.Exports, next.AppliedGeneration = nil, 0
	}
	// The history changes together with the revision: Inventory.Begin may write the status, and the pass may end without
	// another write.
	if next.Revision != before.Revision {
		record := revisionRecord(next.Revision, c.GetGeneration(), in, now)
		record.SourceVersion, record.Changes = set.SourceVersion(), c.Memory.changesSince(&before, in)
		next.History = status.BeginRevision(next.History, record)
	} else {
		next.History = status.EndAttempt(next.History, now)
	}
	c.Memory.remember(&before, in)
	c.SetStatus(status.WithPinnedValues(next, set.Note, c.GetGeneration(), now))
	if err == nil {
		err = p.Inventory.Begin(ctx, c, owner, set)
	}
	if err != nil {
		c.SetStatus(withoutRevision(*c.GetStatus(), before))
		return err
	}
	if c.GetStatus().InputDigest != before.InputDigest {
		p.Metrics.BeginInputs(c.Name(), now)
	}
	return nil
}

// otherFinalizers returns an error while a component that is being deleted has finalizers of other controllers, and nil
// otherwise. ours are the finalizers of this reconciler.
func otherFinalizers(c *Component, ours components.Finalizers) error {
	others := ours.Others(c.Object)
	if len(others) == 0 {
		return nil
	}
	return &passerror.Error{
		Reason: metav1alpha1.ReasonForeignFinalizers, State: metav1alpha1.StateDeleting,
		Message: "dependents are not deleted until other controllers have removed their finalizers: " +
			strings.Join(others, ", "),
	}
}
