package engine

import (
	"context"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Request is a request of a caller to an Engine: apply or delete the dependents of one component.
type Request struct {
	// Owner identifies the component that the dependents belong to.
	Owner manifests.Owner
	// Desired are the objects to apply, as normalise.Manifests returned them. A deletion ignores Desired.
	Desired []manifests.Object
	// Parameters are the parameters that the conditions include-when and active-when of the objects can read. They are
	// JSON values.
	Parameters map[string]any
	// PreDelete are the objects that a deletion applies before it deletes any dependent. PostDelete are the objects
	// that a deletion applies when the other dependents no longer exist. The objects of both lists are in the form that
	// normalise.Manifests returns, and are deleted at the end.
	PreDelete, PostDelete []manifests.Object
	// Revision counts the changes of the inputs that Desired was rendered from. Rendition counts how often the inputs
	// of this revision were rendered again because a looked-up object changed. While Revision and Rendition stay the
	// same, a rendering with other content (such as random values) never replaces the applied objects. Jobs, Pods and
	// completed dependents are applied again only if the revision changes. With the revision 0, every dependent is
	// applied again when its manifest changes.
	Revision, Rendition int64
	// Trigger identifies the state of the component. When Trigger changes, dependents with the reconcile policy
	// on-object-or-component-change are applied again.
	Trigger string
	// RepairNonce is an opaque token. When the token changes, backed-off repairs run at once and their counters are
	// reset.
	RepairNonce string
	// Policies are the defaults for dependents whose manifests set no policy. Empty fields are taken from the options of
	// the engine.
	Policies metav1alpha1.Policies
	// Adopt are the existing objects that may be taken over; see component.AdoptHolder. A rule without a namespace means
	// an object in the namespace of Owner.
	Adopt []metav1alpha1.AdoptRule
	// Managed are the additional managed types. Dependents of these types are applied last and deleted first. Foreign
	// instances of these types (objects that are not dependents) block the deletion of the component.
	Managed []manifests.ManagedType
	// AcceptUnknown are the API groups whose definitions a deletion may delete even if the instances of the defined
	// types cannot be listed. Foreign instances may be lost then.
	AcceptUnknown []string
	// Inventory is the inventory that was persisted last.
	Inventory []metav1alpha1.InventoryEntry
	// WriteInventory persists an inventory. It must return an error if another process persisted an inventory in the
	// meantime. It is called before the first write to a dependent that is missing in the persisted inventory.
	WriteInventory func(ctx context.Context, inventory []metav1alpha1.InventoryEntry) error
	// Before is called once, before the first write of the pass. An error ends the pass. Before may be nil.
	Before func(ctx context.Context) error
	// Confirm returns an error if this pass is outdated, because the component has changed or is being deleted. Confirm
	// is called once, before the first create of a pass that did not call WriteInventory. Confirm may be nil if no
	// other caller uses the same owner.
	Confirm func(ctx context.Context) error
	// Wake is called when a watch event needs another pass. Wake must not block.
	Wake func()
	// Superseded is closed by the caller when the desired state of the component changes. The pass then returns an error
	// before its next write; requests that have been sent are completed. Superseded may be nil.
	Superseded <-chan struct{}
	// Now is the time of the pass.
	Now time.Time
}

// forApplier returns the request as a request to an applier.
func (p Request) forApplier() applier.Request {
	return applier.Request{
		Owner: p.Owner, Desired: p.Desired, PreDelete: p.PreDelete, PostDelete: p.PostDelete,
		Revision: p.Revision, Rendition: p.Rendition, Trigger: p.Trigger, RepairNonce: p.RepairNonce,
		Policies: p.Policies, Adoptions: plan.NewAdoptions(p.Owner, p.Owner.Namespace, p.Adopt, ""), Managed: p.Managed,
		AcceptUnknown:  p.AcceptUnknown,
		Inventory:      p.Inventory,
		WriteInventory: p.WriteInventory, Before: p.Before, Confirm: p.Confirm, Wake: p.Wake, Superseded: p.Superseded,
		Now: p.Now,
	}
}
