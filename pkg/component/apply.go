package component

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// apply takes a component from its spec to its dependents.
func (r *Reconciler[T]) apply(ctx context.Context, component T) (outcome.Outcome, error) {
	if err := validate(component); err != nil {
		return outcome.Outcome{}, err
	}
	inputs, err := r.readInputs(ctx, component)
	if err != nil {
		return outcome.Outcome{}, err
	}
	if inputs.observing {
		return outcome.Outcome{Observing: true}, nil
	}
	owner, inventory, err := r.recorded(ctx, component, inputs.target.engine)
	if err != nil {
		return outcome.Outcome{}, err
	}
	if err := r.place(ctx, component, inputs, len(inventory)); err != nil {
		return outcome.Outcome{}, err
	}
	rendered, desired, err := r.renderSet(ctx, component, owner, inputs, inventory)
	if err != nil {
		enterAttempt(component, inputs, err, r.clock.Now())
		return unrendered(err)
	}
	pass := r.newPass(component, owner, inventory)
	if err := r.enter(ctx, component, inputs, rendered, pass); err != nil {
		return outcome.Outcome{}, err
	}
	status := component.GetStatus()
	pass.Desired, pass.Revision, pass.Rendition, pass.Managed = desired, status.Revision, status.Rendition, inputs.managed
	if pass.Trigger, err = triggerOf(component, inputs); err != nil {
		return outcome.Outcome{}, err
	}
	if pass.Insist, err = r.insistence(component, pass.Trigger); err != nil {
		return outcome.Outcome{}, err
	}
	return r.applySet(ctx, component, inputs, pass)
}

// applySet applies, and says what besides the dependents cannot be watched.
func (r *Reconciler[T]) applySet(ctx context.Context, component T, in inputs, pass Pass) (outcome.Outcome, error) {
	result, err := in.target.engine.run(ctx, pass, plan.ForApply)
	r.suspect(client.ObjectKeyFromObject(component), in.target.engine, result)
	if err == nil && result.Applied {
		component.GetStatus().AppliedDigest = in.digest
	}
	result.Unwatched = append(result.Unwatched, r.unwatchedLookups(pass.Owner, in.target)...)
	return result, err
}

// unrendered is the outcome where there is nothing to apply yet.
func unrendered(err error) (outcome.Outcome, error) {
	if errors.Is(err, errFetching) {
		return outcome.Outcome{Observing: true}, nil
	}
	return outcome.Outcome{}, err
}

// enter notes what is going to be applied, and records what of it must outlive this process. Where that fails, the status tells of what was
// applied before, as if nothing had been rendered: a restart would otherwise take what it renders then for what was recorded.
func (r *Reconciler[T]) enter(ctx context.Context, component T, in inputs, rendered rendering, p Pass) error {
	st := component.GetStatus()
	before := st.DeepCopy()
	st.Identity = components.Identity(p.Owner.Cluster, component.GetUID())
	err := r.begin(st, in, rendered, p.Inventory)
	if err == nil {
		err = r.keep(ctx, component, p.Owner, rendered.draft)
	}
	if err == nil {
		_, phases := ofPhase(rendered.objects, manifests.PhaseApply)
		err = r.keepPhases(ctx, component, p.Owner, phases)
	}
	if err != nil {
		st.InputDigest, st.Revision, st.Rendition = before.InputDigest, before.Revision, before.Rendition
		st.Lookups, st.LookupsDigest, st.ProgressingSince = before.Lookups, before.LookupsDigest, before.ProgressingSince
	}
	if st.Revision != before.Revision {
		st.History = status.BeginRevision(st.History, newRecord(component, in, p.Now))
	} else if err == nil {
		st.History = status.EndAttempt(st.History, p.Now)
	}
	if st.InputDigest != before.InputDigest {
		r.vitals.renewed(client.ObjectKeyFromObject(component), p.Now)
	}
	return err
}

// validate asks a component whether its spec can be used.
func validate(component Component) error {
	v, ok := component.(Validator)
	if !ok {
		return nil
	}
	if err := v.Validate(); err != nil {
		return condition.InvalidSpec(err)
	}
	return nil
}

// recorded returns who owns the dependents, and their record. Where there is one, our finalizer guards it, also when somebody removed it.
func (r *Reconciler[T]) recorded(ctx context.Context, component T, e *Engine) (manifests.Owner, []metav1alpha1.InventoryEntry, error) {
	owner, err := r.owners.Of(ctx, component)
	if err != nil {
		return owner, nil, err
	}
	inventory, err := r.inventory(ctx, component, owner, e)
	if err == nil {
		err = r.findRecords(ctx, component, owner)
	}
	if err == nil && len(inventory) > 0 && component.GetDeletionTimestamp().IsZero() {
		err = r.components.AddFinalizer(ctx, component)
	}
	return owner, r.withSuspects(client.ObjectKeyFromObject(component), inventory), err
}

// newPass returns what applying and deleting have in common.
func (r *Reconciler[T]) newPass(component T, owner manifests.Owner, inventory []metav1alpha1.InventoryEntry) Pass {
	// Watches wake while the component is written to, and what it is called is not to be read then.
	name, recorded := client.ObjectKeyFromObject(component), components.RefOf(component.GetStatus())
	return Pass{
		Owner: owner, Inventory: inventory, Policies: policiesOf(component), Now: r.clock.Now(), Superseded: r.passes.Superseded(name),
		Record: func(ctx context.Context, inventory []metav1alpha1.InventoryEntry) error {
			err := r.record(ctx, component, recorded, inventory)
			if err == nil {
				recorded = components.RefOf(component.GetStatus())
			}
			return err
		},
		Before:  func(ctx context.Context) error { return r.owners.VerifyCluster(ctx, name) },
		Confirm: func(ctx context.Context) error { return r.components.Confirm(ctx, component, recorded) },
		Wake:    func() { r.wake(name) },
	}
}

// checkSelf refuses a component that is its own dependent: it could never be deleted. In another cluster it is another object.
func checkSelf(owner manifests.Owner, t target, desired []manifests.Object) error {
	self := owner.Component()
	if t.cluster != "" || !slices.ContainsFunc(desired, func(o manifests.Object) bool { return o.Key == self }) {
		return nil
	}
	return &condition.Error{
		Reason: metav1alpha1.ReasonInvalidManifests, Terminal: true,
		Message: fmt.Sprintf("%s: the component itself is among its dependents; rename it, or remove it from the manifests", self),
	}
}

// checkEmpty refuses to prune everything unless the component allows it: more often than not an empty rendering is a mistake.
func checkEmpty(component Component, desired, dependents int) error {
	if desired > 0 || dependents == 0 {
		return nil
	}
	if a, ok := component.(EmptyAllower); ok && a.AllowEmpty() {
		return nil
	}
	return &condition.Error{
		Reason: metav1alpha1.ReasonInvalidManifests, Terminal: true,
		Message: fmt.Sprintf("nothing is rendered, although there are dependents (%d); delete the component to delete them, or let it allow that, as a Component does by spec.allowEmpty", dependents),
	}
}

// place refuses to move dependents silently, and holds what leads to them.
func (r *Reconciler[T]) place(ctx context.Context, component T, in inputs, dependents int) error {
	if err := checkPlacement(component.GetStatus(), in, dependents); err != nil || dependents == 0 {
		return err
	}
	return r.protectKubeconfig(ctx, component)
}

// checkPlacement refuses to move dependents silently.
func checkPlacement(status *metav1alpha1.Status, in inputs, dependents int) error {
	if err := checkCluster(status, in.target, dependents); err != nil {
		return err
	}
	moved := status.TargetNamespace != in.namespace || status.TargetName != in.name
	if status.Revision == 0 || dependents == 0 || !moved {
		return nil
	}
	return condition.InvalidSpec(fmt.Errorf("target %s/%s cannot change to %s/%s while %d dependents exist; change it back, or delete the component first",
		status.TargetNamespace, status.TargetName, in.namespace, in.name, dependents))
}

// triggerOf identifies the state of a component: its generation, and the content of its references and other inputs.
func triggerOf(component client.Object, in inputs) (string, error) {
	return manifests.Digest([]any{component.GetGeneration(), in.digest})
}

// begin enters new inputs into the status: a revision of their own, and a new time-out. What is rendered differently because of what is looked
// up is a new rendition of the revision.
func (r *Reconciler[T]) begin(status *metav1alpha1.Status, in inputs, rendered rendering, inventory []metav1alpha1.InventoryEntry) error {
	status.Reconciler, status.TargetNamespace, status.TargetName = r.name, in.namespace, in.name
	status.TargetCluster, status.ManagedTypes = in.target.cluster, typeTexts(in.managed)
	switch {
	case !in.standing(status):
		status.InputDigest, status.Rendition = in.digest, 0
		status.Revision = max(status.Revision, newestRevision(inventory)) + 1
	case rendered.looks.entered(status):
		return nil
	case rendered.anew && status.RenderedSet != "":
		// What was kept is lost. What was applied stays as it is, although something changed that was looked up.
		return nil
	case appliedOtherwise(rendered.objects, inventory):
		status.Rendition = max(status.Rendition, newestRendition(inventory, status.Revision)) + 1
	case len(rendered.looks.served.Undiscovered) > 0 && rendered.id == "":
		// What is applied does not depend on the groups that do not answer: they need not hold up what comes later.
		return rendered.looks.enter(status)
	default:
		return nil
	}
	now := metav1.NewTime(r.clock.Now())
	status.ProgressingSince = &now
	return rendered.looks.enter(status)
}

// record persists an inventory, behind the finalizer: without it a deletion could outrun us. The resource version fences operators of
// the same name.
func (r *Reconciler[T]) record(ctx context.Context, component T, recorded components.InventoryRef, inventory []metav1alpha1.InventoryEntry) error {
	defer r.vitals.meter.Time(metrics.StepRecord)()
	if err := r.components.AddFinalizer(ctx, component); err != nil {
		return err
	}
	if err := r.protectKubeconfig(ctx, component); err != nil {
		return err
	}
	if err := r.keepInventory(ctx, component, recorded, inventory); err != nil {
		return err
	}
	deleting := !component.GetDeletionTimestamp().IsZero()
	*component.GetStatus() = status.Recorded(*component.GetStatus(), component.GetGeneration(), deleting, r.clock.Now())
	return r.components.WriteStatus(ctx, component, recorded)
}
