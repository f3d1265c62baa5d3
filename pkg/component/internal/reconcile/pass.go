package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/internal/telemetry"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Pass brings the dependents of a component to the state that it declares, as far as possible without waiting.
type Pass struct {
	Ports
	// Reconciler is the name of the reconciler.
	Reconciler string
	Author     Author
	// Store writes components; nil in a preview.
	Store *components.Store
	// InFlight are the passes that a new version of a component interrupts; nil in a preview.
	InFlight *components.Passes
	Metrics  *telemetry.PassMetrics
	Clock    clock.PassiveClock
	// Wake starts a pass over a component, and Tell creates an event about it.
	Wake func(types.NamespacedName)
	Tell func(obj components.Object, e status.Event)
}

// Apply brings the dependents of a component closer to the set that its generator renders. Nothing is written before
// step 7 but what protects the record, and no dependent before step 8.
func (p *Pass) Apply(ctx context.Context, c *Component) (outcome.Outcome, error) {
	// 1. The spec can be used at all.
	if err := p.Author.Validate(c.Object); err != nil {
		return outcome.Outcome{}, err
	}
	// 2. Its owner id, and the cluster and identity of its dependents.
	owner, t, err := p.acquire(ctx, c)
	if err != nil {
		return pending(err)
	}
	// 3. Parameters, references and source: values, and one digest.
	in, err := p.readInputs(ctx, c, t)
	if err != nil {
		return pending(err)
	}
	// 4. The record of the dependents, whole again if it was lost.
	recorded, err := p.load(ctx, c, owner, t)
	if err != nil {
		return outcome.Outcome{}, err
	}
	// 5. Nothing moves silently.
	if err := checkPlacement(c.GetStatus(), t, in, recorded.Entries); err != nil {
		return outcome.Outcome{}, err
	}
	if len(recorded.Entries) > 0 {
		if err := p.Inventory.ProtectKubeconfig(ctx, c, owner); err != nil {
			return outcome.Outcome{}, err
		}
	}
	// 6. The set that the generator renders.
	set, err := p.render(ctx, c, owner, t, in, recorded.Entries)
	if err != nil {
		c.SetStatus(withAttempt(*c.GetStatus(), c.GetGeneration(), in, err, p.Clock.Now()))
		return pending(err)
	}
	// 7. The revision, and what must be recorded before anything of it is applied.
	if err := p.begin(ctx, c, owner, t, in, set, recorded.Entries); err != nil {
		return outcome.Outcome{}, err
	}
	// 8. Facts, plan, record, execute, until nothing is left to do.
	request := p.newRequest(c, owner, recorded.Entries)
	request.Desired, request.Managed = set.Desired(), in.Managed
	request.Revision, request.Rendition = c.GetStatus().Revision, c.GetStatus().Rendition
	if request.Trigger, err = triggerOf(c.GetGeneration(), in); err != nil {
		return outcome.Outcome{}, err
	}
	if request.RepairNonce, err = p.repairNonce(c, request.Trigger); err != nil {
		return outcome.Outcome{}, err
	}
	o, err := p.Applier.Apply(ctx, t.Client, request)
	c.Memory.addCreated(t.Client, o)
	if err == nil && o.Applied {
		c.GetStatus().AppliedDigest = in.Digest
	}
	o.Unwatched = append(o.Unwatched, lookup.Unwatched(t, p.looker(owner))...)
	return o, err
}

// Delete deletes the dependents of a component. It renders nothing: the record is enough.
func (p *Pass) Delete(ctx context.Context, c *Component) (outcome.Outcome, error) {
	owner, t, err := p.acquire(ctx, c)
	if err != nil && !errors.Is(err, condition.ErrObserving) && p.hasNothing(c) {
		// No dependent was ever created, so the target is not needed.
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
	request := p.newRequest(c, owner, recorded.Entries)
	request.Before = func(ctx context.Context) error { return p.preDelete(ctx, c) }
	request.AcceptUnknown = acceptedGroups(c.Object, p.Reconciler)
	if request.Managed, err = recordedTypes(c.GetStatus()); err != nil {
		return outcome.Outcome{}, err
	}
	var events []status.Event
	request.PreDelete, request.PostDelete, events, err = p.Inventory.Phases(ctx, c, request, t)
	p.tell(c, events)
	if err != nil {
		return outcome.Outcome{}, err
	}
	o, err := p.Applier.Delete(ctx, t.Client, request)
	c.Memory.addCreated(t.Client, o)
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

// hasNothing reports whether no dependent of a component was ever created, as far as the status and the memory say.
func (p *Pass) hasNothing(c *Component) bool {
	return components.RefOf(c.GetStatus()).Empty() &&
		!components.Damaged(c.Object, components.Finalizer(p.Reconciler)) &&
		len(c.Memory.unconfirmed.entries) == 0
}

// pending maps the error of a step that waits for a watch or a fetch to the outcome of a pass that waits.
func pending(err error) (outcome.Outcome, error) {
	if errors.Is(err, condition.ErrObserving) {
		return outcome.Outcome{Observing: true}, nil
	}
	return outcome.Outcome{}, err
}

// withHintGiveUp adds to the error of a deletion that lacks its target how to delete the component without its
// dependents. The reconciler does not decide that, because nothing deletes the dependents then.
func withHintGiveUp(err error) error {
	if condition.Interrupted(err) || errors.Is(err, condition.ErrObserving) {
		return err
	}
	hinted := *condition.Of(err)
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
	return owner, t, err
}

func (p *Pass) readInputs(ctx context.Context, c *Component, t target.Target) (in input.Inputs, err error) {
	defer p.Metrics.Time(metrics.StepInputs)()
	declared, err := p.Author.Inputs(c.Object)
	if err != nil {
		return input.Inputs{}, err
	}
	in, c.Memory.Contents, err = p.Inputs.Read(ctx, c.Name(), declared, t, c.Memory.Contents)
	return in, err
}

func (p *Pass) tell(c *Component, events []status.Event) {
	for _, e := range events {
		p.Tell(c.Object, e)
	}
}

// load returns the recorded inventory with the unconfirmed dependents, and keeps the finalizer on a component with any.
func (p *Pass) load(ctx context.Context, c *Component, owner manifests.Owner, t target.Target) (Loaded, error) {
	recorded, err := p.Inventory.Load(ctx, c, owner, t)
	p.tell(c, recorded.Events)
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

// render returns the set of the inputs, and enters the results of the generator into the status.
func (p *Pass) render(
	ctx context.Context, c *Component, owner manifests.Owner, t target.Target, in input.Inputs,
	inventory []metav1alpha1.InventoryEntry,
) (rendering.Set, error) {
	defer p.Metrics.Time(metrics.StepGenerate)()
	set, err := p.Rendering.Render(ctx, rendering.Request{
		Component: c.Object, Status: c.GetStatus(), Owner: owner, Target: t, Inputs: in, Inventory: inventory,
		AllowEmpty: c.AllowEmpty, Records: &c.Memory.Inventory.Records,
	})
	if set.Lost != "" {
		p.Tell(c.Object, status.Warning("RenderedSetLost",
			"it is rendered again; what was applied stays, and what is gone gets other values: "+set.Lost))
	}
	if results, called := set.Results(); called {
		c.SetStatus(status.WithGeneratorResults(*c.GetStatus(), results, c.GetGeneration(), p.Clock.Now()))
	}
	return set, err
}

// begin enters the revision of a set into the status, and records what must outlive the process.
func (p *Pass) begin(
	ctx context.Context, c *Component, owner manifests.Owner, t target.Target, in input.Inputs, set rendering.Set,
	inventory []metav1alpha1.InventoryEntry,
) error {
	before, now := *c.GetStatus().DeepCopy(), p.Clock.Now()
	next, err := nextRevision(before, t, in, set, inventory, now)
	next.Reconciler, next.Identity = p.Reconciler, components.Identity(owner.Cluster, c.GetUID())
	c.SetStatus(status.WithPinnedValues(next, set.Note, c.GetGeneration(), now))
	if err == nil {
		err = p.Inventory.Begin(ctx, c, owner, set)
	}
	if err != nil {
		c.SetStatus(withoutRevision(*c.GetStatus(), before))
		return err
	}
	s := c.GetStatus()
	if s.Revision != before.Revision {
		s.History = status.BeginRevision(s.History, revisionRecord(s.Revision, c.GetGeneration(), in, now))
	} else {
		s.History = status.EndAttempt(s.History, now)
	}
	if s.InputDigest != before.InputDigest {
		p.Metrics.BeginInputs(c.Name(), now)
	}
	return nil
}

// newRequest returns what the requests of an apply and of a deletion have in common.
func (p *Pass) newRequest(
	c *Component,
	owner manifests.Owner,
	inventory []metav1alpha1.InventoryEntry,
) applier.Request {
	// The name is read now: watches wake the component while a write decodes its answer into the object.
	name := c.Name()
	request := applier.Request{
		Owner: owner, Inventory: inventory, Policies: c.Policies, Now: p.Clock.Now(), Wake: func() { p.Wake(name) },
	}
	if p.Store == nil {
		return request
	}
	recorded := components.RefOf(c.GetStatus())
	request.Superseded = p.InFlight.Superseded(name)
	request.Before = func(ctx context.Context) error { return p.Owners.VerifyCluster(ctx, name) }
	request.Confirm = func(ctx context.Context) error { return p.Store.Confirm(ctx, c.Object, recorded) }
	request.Record = func(ctx context.Context, entries []metav1alpha1.InventoryEntry) error {
		defer p.Metrics.Time(metrics.StepRecord)()
		err := p.record(ctx, c, owner, recorded, entries)
		if err == nil {
			recorded = components.RefOf(c.GetStatus())
		}
		return err
	}
	return request
}

// record persists an inventory behind the finalizer, so that a deletion waits for it. The resource version excludes
// another operator of the same name.
func (p *Pass) record(
	ctx context.Context, c *Component, owner manifests.Owner, recorded components.InventoryRef,
	entries []metav1alpha1.InventoryEntry,
) error {
	if err := p.Store.AddFinalizer(ctx, c.Object); err != nil {
		return err
	}
	if err := p.Inventory.ProtectKubeconfig(ctx, c, owner); err != nil {
		return err
	}
	if err := p.Inventory.Record(ctx, c, recorded, entries); err != nil {
		return err
	}
	c.SetStatus(status.Recorded(*c.GetStatus(), c.GetGeneration(), c.IsDeleted(), p.Clock.Now()))
	return p.Store.WriteStatus(ctx, c.Object, recorded)
}

// repairNonce returns a token that changes with the component and with each request for a pass: then backed-off
// repairs run at once.
func (p *Pass) repairNonce(c *Component, trigger string) (string, error) {
	return manifests.Digest([]any{trigger, requestedAt(c.Object, p.Reconciler)})
}

func (p *Pass) looker(owner manifests.Owner) lookup.Owner {
	return lookup.Owner{Reconciler: p.Reconciler, ID: owner.ID()}
}

// recordedTypes returns the additional managed types of the last apply.
func recordedTypes(s *metav1alpha1.Status) ([]manifests.ManagedType, error) {
	var managed []manifests.ManagedType
	var errs []error
	for _, text := range s.ManagedTypes {
		t, err := manifests.ParseManagedType(text)
		managed, errs = append(managed, t), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, &condition.Error{
			Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("status.managedTypes: %v", err),
		}
	}
	return managed, nil
}

// otherFinalizers returns the error of a deletion that waits for the finalizers of others, nil without any.
func otherFinalizers(c *Component, own string) error {
	others := components.OtherFinalizers(c.Object, own)
	if len(others) == 0 {
		return nil
	}
	return &condition.Error{
		Reason: metav1alpha1.ReasonForeignFinalizers, State: metav1alpha1.StateDeleting,
		Message: "dependents stay until the finalizers of others are gone: " + strings.Join(others, ", "),
	}
}
