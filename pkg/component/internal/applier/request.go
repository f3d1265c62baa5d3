package applier

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inclusion"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Request is the work of a pass over the dependents of a component.
type Request struct {
	// Owner identifies the component.
	Owner manifests.Owner
	// Desired is the apply set, normalised; a deletion ignores it.
	Desired []manifests.Object
	// Excluded contains the objects that are not in Desired because their condition include-when is false; see plan.Facts.
	Excluded map[manifests.Key]bool
	// LeftOut says why objects are not applied, because their conditions are false; see Outcome.LeftOut.
	LeftOut []metav1alpha1.DependentReport
	// Asked are the exports that the rendering of Desired asked for. If a value differs from the value that the rendering
	// got, Apply ends, and Outcome.Asked has the current values. If HoldExports is set, Desired is applied nevertheless.
	Asked       []plan.AskedExport
	HoldExports bool
	// Hold is set if nothing but repairs may be done, because Desired is the last rendering, and not that of the current
	// inputs.
	Hold bool
	// Exports are the names of the exports of Desired whose values the outcome returns.
	Exports []string
	// Conditions replace Desired, Excluded and LeftOut before each plan, if a condition of an object reads exported
	// values. Desired then has every object that they may return. Conditions is nil if no condition reads exported
	// values.
	Conditions Conditions
	// PreDelete are the objects that a deletion applies before it deletes any dependent. PostDelete are the objects
	// that a deletion applies when the other dependents no longer exist. The deletion also deletes these objects in the
	// end.
	PreDelete, PostDelete []manifests.Object
	// Phases are these objects of a later deletion. An apply validates them with Desired.
	Phases []manifests.Object
	// Revision counts the changes of the inputs that Desired was rendered from. Rendition counts the renderings of this
	// revision that differ because a looked-up object changed. While Revision and Rendition stay the same, a rendering
	// with other content never replaces the applied objects.
	Revision, Rendition int64
	// Trigger identifies the state of the component. When Trigger changes, dependents with the reconcile policy
	// on-object-or-component-change are applied again. In a deletion, Trigger identifies the latest request for a pass.
	// When it changes, objects of a phase that failed and were deleted are applied again.
	Trigger string
	// RepairNonce is an opaque token. When the token changes, backed-off repairs run at once and their counters are
	// reset.
	RepairNonce string
	// Requested is an opaque token. When the token changes, because a person requested a pass, access reviews are
	// repeated.
	Requested string
	// Policies are the defaults for dependents whose manifests set no policies. Empty fields are taken from the options
	// of the Applier.
	Policies metav1alpha1.Policies
	// Adoptions are the existing objects that may be taken over.
	Adoptions plan.Adoptions
	// Needs are the objects that the component needs itself, apart from those that are found among its dependents; see
	// plan.NewNeeds.
	Needs plan.Needs
	// Managed are the additional managed types.
	Managed []manifests.ManagedType
	// AcceptUnknown are the API groups whose definitions a deletion may delete although their instances cannot be
	// listed. Foreign instances may be lost then.
	AcceptUnknown []string
	// Inventory is the recorded inventory.
	Inventory []metav1alpha1.InventoryEntry
	// Recorded is the persisted inventory if it differs from Inventory, because the last pass ended with Outcome.Asked. It
	// is nil otherwise. Unrecorded is set if Inventory must be persisted before the first write.
	Recorded   plan.Inventory
	Unrecorded bool
	// WriteInventory persists an inventory. It fails if another client persisted an inventory in the meantime. It is
	// called before the first write to a dependent that is not in the stored inventory.
	WriteInventory func(ctx context.Context, inventory []metav1alpha1.InventoryEntry) error
	// Before is called once, before the first write of a pass. An error ends the pass. Before may be nil.
	Before func(ctx context.Context) error
	// Confirm returns an error if the component has changed since the pass began. Confirm is called once, before the
	// first create of a pass that wrote no inventory, and before each round of actions outside Kubernetes. Confirm may
	// be nil if no other process works for the same owner.
	Confirm func(ctx context.Context) error
	// Drops receives the fields that the API server drops from the manifests that are about to be applied for the first
	// time. Drops may be nil.
	Drops func([]result.DroppedField)
	// Wake starts a pass over the component. Wake must not block.
	Wake func()
	// Superseded, which may be nil, is closed when the component changes: the pass ends before its next write.
	Superseded <-chan struct{}
	// ReadyFunc evaluates a condition in Go that sees the component. It is nil for an Engine, which has no such
	// conditions.
	ReadyFunc ReadyFunc
	// Externals are the dependents outside Kubernetes; nil if the component has none.
	Externals Externals
	// Now is the time of the pass.
	Now time.Time

	deleting bool
}

// ReadyFunc returns the readiness of an object by the condition in Go with the given name, which sees the component.
type ReadyFunc func(name string, self *unstructured.Unstructured) ready.Result

// Decide returns the request without the objects of Desired that are excluded by their conditions, or not active.
// Desired and Asked must be set before. Objects and exporters get the keys that they have in the inventory.
// Conditions that read exports are undecided here, and are decided before each plan.
func (r Request) Decide(ctx context.Context, in inclusion.Inputs) Request {
	index := sync.OnceValue(func() plan.Inventory { return plan.NewInventory(r.Inventory) })
	in.Recorded = func(key manifests.Key) bool {
		_, recorded := index()[key]
		return recorded
	}
	set := r.Desired
	decision := inclusion.Decide(ctx, set, in)
	r.Desired, r.Excluded, r.LeftOut = decision.Desired, decision.Excluded, decision.LeftOut
	r.Asked = slices.Clone(r.Asked)
	for i := range r.Asked {
		r.Asked[i].Exporter = decision.KeyOf(r.Asked[i].Exporter)
	}
	if !slices.ContainsFunc(set, manifests.Object.ReadsExports) {
		return r
	}
	r.Conditions = func(ctx context.Context, export func(string) (any, string)) inclusion.Decision {
		in.Export = export
		return inclusion.Decide(ctx, set, in)
	}
	return r
}

// ended returns an error if the pass must end because the request is superseded or ctx has ended.
func (r Request) ended(ctx context.Context) error {
	select {
	case <-r.Superseded:
		return passerror.ErrSuperseded
	default:
		return ctx.Err()
	}
}

// appliesNew reports whether the request may apply a manifest for the first time: it is neither a deletion nor a
// repair.
func (r Request) appliesNew() bool { return !r.deleting && !r.Hold }

// removalReason returns the reason for the removal of dependents that are not desired.
func (r Request) removalReason() plan.Reason {
	if r.deleting {
		return plan.ReasonDeleted
	}
	return plan.ReasonPruned
}
