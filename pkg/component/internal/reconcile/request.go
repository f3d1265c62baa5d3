package reconcile

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// newRequest returns a request with the fields that an apply and a deletion have in common.
func (p *Pass) newRequest(
	c *Component,
	owner manifests.Owner,
	inventory []metav1alpha1.InventoryEntry,
) applier.Request {
	// The name is copied here, because Wake may be called while a write decodes the response of the API server into
	// c.Object. Reading the name from the object at that time would be a data race.
	name, adoptions := c.Name(), plan.NewAdoptions(owner, c.Namespace, c.Adopt, c.AdoptField)
	if c.AdoptUnowned {
		adoptions = adoptions.Unowned()
	}
	request := applier.Request{
		Owner: owner, Inventory: inventory, Policies: c.Policies, Now: p.Clock.Now(), Wake: func() { p.Wake(name) },
		Adoptions: adoptions, Requested: requestedAt(c.Object, p.Reconciler),
		Judge: func(condition string, self *unstructured.Unstructured) ready.Result {
			return p.Author.Condition(c.Object, condition, self)
		},
	}
	if p.Store == nil {
		return request
	}
	request.Drops = func(fields []outcome.DroppedField) {
		if e := c.Memory.toldDependents.Dropped(c.GetStatus().Revision, fields); e.Note != "" {
			p.Tell(c.Object, e)
		}
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

// record adds the finalizer and then writes an inventory, so that no deletion of the component can skip the new
// dependents. The writes are bound to the resource version, so they fail if another operator of the same name wrote the
// component.
func (p *Pass) record(
	ctx context.Context, c *Component, owner manifests.Owner, recorded components.InventoryRef,
	entries []metav1alpha1.InventoryEntry,
) error {
	if err := p.hold(ctx, c, owner); err != nil {
		return err
	}
	if err := p.Inventory.Record(ctx, c, recorded, entries); err != nil {
		return err
	}
	c.SetStatus(status.Recorded(*c.GetStatus(), c.GetGeneration(), c.IsDeleted(), p.Clock.Now()))
	return p.Store.WriteStatus(ctx, c.Object, recorded)
}

// hold adds the finalizer to a component, and to the Secret with its kubeconfig. If both have it, hold sends no request.
func (p *Pass) hold(ctx context.Context, c *Component, owner manifests.Owner) error {
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

func (p *Pass) looker(owner manifests.Owner) lookup.Owner {
	return lookup.Owner{Reconciler: p.Reconciler, ID: owner.ID()}
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
