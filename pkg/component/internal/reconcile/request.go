package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// A request is made by one function for each verb, from the component and from what the first steps of the pass found.
// Nobody changes a request afterwards.

// applyRequest returns the request that applies a rendered set. others identifies the inputs that the component does
// not write itself, if it writes some; see feedback. If the set must be used although it has outdated values, due is
// the time of the next rendering. The error is passerror.ErrObserving while the externals of the component wait for a
// watch.
func (p *Pass) applyRequest(
	ctx context.Context, c *Component, w work, set rendering.Set, others string,
) (request applier.Request, due time.Time, err error) {
	trigger, err := triggerOf(c.GetGeneration(), w.inputs)
	if err != nil {
		return request, due, err
	}
	nonce, err := repairNonce(c.Object, p.Reconciler, trigger)
	if err != nil {
		return request, due, err
	}
	decided, err := conditions{p.Author, c, w.target, w.inputs}.of(ctx, set)
	if err != nil {
		return request, due, err
	}
	due = c.State.renewals.holdUntil(set, cmp.Or(others, nonce), c.State.unreported.ends, p.Clock.Now())
	request = p.newRequest(c, w)
	request.Desired, request.Phases, request.Asked = set.Desired(), set.Phases(), set.Asked()
	request = request.Decide(ctx, decided)
	request.Needs = needsOf(c, w.target, w.inputs.Declaration.References)
	request.Managed, request.Exports = w.inputs.Managed, c.Exports
	request.Revision, request.Rendition = c.GetStatus().Revision, c.GetStatus().Rendition
	request.Trigger, request.RepairNonce = trigger, nonce
	request.HoldExports = !due.IsZero()
	request.Externals, err = p.Externals.begin(ctx, c, p.Reconciler, externalInput{
		owner: w.owner, target: w.target, desired: request.Desired, inventory: request.Inventory, trigger: trigger,
	})
	return request, due, err
}

// deleteRequest returns the request that deletes the dependents. The error is passerror.ErrObserving while the
// externals of the component wait for a watch.
func (p *Pass) deleteRequest(ctx context.Context, c *Component, w work) (request applier.Request, err error) {
	request = p.newRequest(c, w)
	request.Needs = needsOf(c, w.target, nil)
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
	request.PreDelete, request.PostDelete, events, err = p.Inventory.Phases(ctx, c, request, w.target)
	p.tell(c, events)
	if err != nil {
		return request, err
	}
	request.Externals, err = p.Externals.begin(ctx, c, p.Reconciler, externalInput{
		owner: w.owner, target: w.target, inventory: request.Inventory, trigger: request.Trigger,
	})
	return request, err
}

// lateDeleteRequest returns the request that deletes the dependents that were created after the last write of the
// status of a component that no longer exists.
func lateDeleteRequest(owner manifests.Owner, created plan.Inventory, now time.Time, wake func()) applier.Request {
	return applier.Request{Owner: owner, Inventory: created.Sorted(), Now: now, Wake: wake}
}

// newRequest returns the part of a request that all verbs have in common. It suffices to count the recorded dependents.
func (p *Pass) newRequest(c *Component, w work) applier.Request {
	// The name is copied here, because Wake may be called while a write decodes the response of the API server into
	// c.Object. Reading the name from the object at that time would be a data race.
	name, adoptions := c.Name(), plan.NewAdoptions(w.owner, c.Namespace, c.Adopt, c.AdoptField)
	if c.AdoptUnowned {
		adoptions = adoptions.Unowned()
	}
	request := applier.Request{
		Owner: w.owner, Inventory: w.recorded.Entries, Policies: c.Policies, Now: p.Clock.Now(),
		Recorded: w.recorded.Persisted, Unrecorded: w.recorded.Unrecorded,
		Wake: func() { p.Wake(name) }, Adoptions: adoptions, Requested: requestedAt(c.Object, p.Reconciler),
		ReadyFunc: func(condition string, self *unstructured.Unstructured) ready.Result {
			return p.Author.Condition(c.Object, condition, self)
		},
	}
	if p.Store == nil {
		return request
	}
	request.Drops = func(fields []result.DroppedField) {
		if e := c.State.toldDependents.Dropped(c.GetStatus().Revision, fields); e.Note != "" {
			p.Tell(c.Object, e)
		}
	}
	recorded := components.RefOf(c.GetStatus())
	request.Superseded = p.InFlight.Superseded(name)
	request.Before = func(ctx context.Context) error { return p.Owners.VerifyCluster(ctx, name) }
	request.Confirm = func(ctx context.Context) error { return p.Store.Confirm(ctx, c.Object, recorded) }
	request.WriteInventory = func(ctx context.Context, entries []metav1alpha1.InventoryEntry) error {
		defer p.Metrics.Time(metrics.StepRecord)()
		err := p.writeInventory(ctx, c, w.owner, recorded, entries)
		if err == nil {
			recorded = components.RefOf(c.GetStatus())
			c.State.unreported.replace(entries)
		}
		return err
	}
	return request
}

// needsOf returns the objects that a component names and needs: its namespace, its service account, the Secret with its
// kubeconfig, and the objects in references. It needs none of them if its dependents are in another cluster. The
// component can be deleted without the objects that it refers to, so these are only not pruned.
func needsOf(c *Component, t target.Target, references []metav1alpha1.Reference) plan.Needs {
	if t.Cluster != "" {
		return nil
	}
	needs, namespace := plan.Needs{}, c.GetNamespace()
	for _, ref := range references {
		if ref.Kind == metav1alpha1.SecretReference || ref.Kind == metav1alpha1.ConfigMapReference {
			key := manifests.Key{Kind: string(ref.Kind), Namespace: namespace, Name: ref.Name}
			needs[key] = metav1alpha1.DeleteOrphanOnApply
		}
	}
	if namespace != "" {
		needs[manifests.Key{Kind: "Namespace", Name: namespace}] = metav1alpha1.DeleteOrphan
	}
	if k := c.Target.KubeConfig; k != nil {
		needs[manifests.Key{Kind: "Secret", Namespace: namespace, Name: k.Name}] = metav1alpha1.DeleteOrphan
	}
	if t.Client == nil {
		return needs
	}
	if in, account, ok := plan.ServiceAccountOf(t.Client.User); ok {
		needs[manifests.Key{Kind: "ServiceAccount", Namespace: in, Name: account}] = metav1alpha1.DeleteOrphan
	}
	return needs
}

// writeInventory adds the finalizer and then writes an inventory, so that no deletion of the component can skip the new
// dependents. The writes are bound to the resource version, so they fail if another operator of the same name wrote the
// component.
func (p *Pass) writeInventory(
	ctx context.Context, c *Component, owner manifests.Owner, recorded components.InventoryRef,
	entries []metav1alpha1.InventoryEntry,
) error {
	if err := p.addFinalizers(ctx, c, owner); err != nil {
		return err
	}
	if err := p.Inventory.WriteInventory(ctx, c, recorded, entries); err != nil {
		return err
	}
	c.SetStatus(status.Recorded(*c.GetStatus(), c.GetGeneration(), c.IsDeleted(), p.Clock.Now()))
	return p.Store.WriteStatus(ctx, c.Object, recorded)
}

// addFinalizers adds the finalizer to a component, and to the Secret with its kubeconfig. If both have it,
// addFinalizers sends no request.
func (p *Pass) addFinalizers(ctx context.Context, c *Component, owner manifests.Owner) error {
	if err := p.Store.AddFinalizer(ctx, c.Object); err != nil {
		return err
	}
	return p.Inventory.ProtectKubeconfig(ctx, c, owner)
}

// repairNonce returns a token that changes with the spec of the component, with its inputs, and with each request for a
// pass by annotation. When the token changes, repairs that are waiting for their back-off run at once.
func repairNonce(component components.Object, reconciler, trigger string) (string, error) {
	return digests.Of([]any{trigger, requestedAt(component, reconciler)})
}

func lookerOf(owner manifests.Owner) lookup.Owner {
	return lookup.Owner{Reconciler: owner.Reconciler, ID: owner.ID()}
}

// recordedTypes returns the additional managed types that the last apply entered into the status.
func recordedTypes(s *metav1alpha1.Status) ([]manifests.ManagedType, error) {
	var managed []manifests.ManagedType
	var errs []error
	for _, text := range s.ManagedTypes {
		t, err := manifests.ParseManagedType(text)
		managed, errs = append(managed, t), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, &passerror.Error{
			Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("status.managedTypes: %v", err),
		}
	}
	return managed, nil
}
