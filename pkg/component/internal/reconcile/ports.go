package reconcile

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Ports are the collaborators of a Pass. A preview replaces those that write, wait or impersonate.
type Ports struct {
	Owners    Owners
	Targets   Targets
	Inputs    Inputs
	Inventory Inventory
	Rendering Rendering
	Applier   Applier
}

// Owners identifies components.
type Owners interface {
	// Of returns the owner of the dependents of a component.
	Of(ctx context.Context, obj components.Object) (manifests.Owner, error)
	// VerifyCluster confirms the cluster id of a component before the first write of a pass.
	VerifyCluster(ctx context.Context, name types.NamespacedName) error
	// Known returns the owner that the last pass over a component used.
	Known(name types.NamespacedName) manifests.Owner
}

// Targets finds the target of a component.
type Targets interface {
	Acquire(ctx context.Context, r target.Request) (target.Target, error)
}

// Inputs reads the inputs of a rendering.
type Inputs interface {
	Read(
		ctx context.Context, name types.NamespacedName, d input.Declaration, t target.Target, known input.Contents,
	) (input.Inputs, input.Contents, error)
}

// Rendering renders the set of a component.
type Rendering interface {
	Render(ctx context.Context, r rendering.Request) (rendering.Set, error)
	Drop(name types.NamespacedName)
}

// Applier applies and deletes dependents.
type Applier interface {
	Apply(ctx context.Context, client *target.Client, r applier.Request) (outcome.Outcome, error)
	Delete(ctx context.Context, client *target.Client, r applier.Request) (outcome.Outcome, error)
}

// Inventory is the record of dependents, with all that is recorded beside it.
type Inventory interface {
	// Load returns the recorded inventory. A lost or edited record is rebuilt from the owner labels, and recorded,
	// before anything is planned.
	Load(ctx context.Context, c *Component, owner manifests.Owner, t target.Target) (Loaded, error)
	// Recorded returns the recorded entries, without any recovery.
	Recorded(ctx context.Context, c *Component, owner manifests.Owner) ([]metav1alpha1.InventoryEntry, error)
	// ProtectKubeconfig adds our finalizer to the Secret that leads to the dependents, and removes it from a former
	// one.
	ProtectKubeconfig(ctx context.Context, c *Component, owner manifests.Owner) error
	// CheckKubeconfig notes that the finalizer was removed from the Secret that a target was read from.
	CheckKubeconfig(c *Component, owner manifests.Owner, t target.Target)
	// Begin records what must outlive the process before anything of a set is applied: pinned values, and the objects
	// of phases.
	Begin(ctx context.Context, c *Component, owner manifests.Owner, set rendering.Set) error
	// Record persists an inventory before the first write to a dependent that the recorded one lacks. recorded is the
	// reference to the recorded one.
	Record(
		ctx context.Context, c *Component, recorded components.InventoryRef, entries []metav1alpha1.InventoryEntry,
	) error
	// Phases returns the objects that a deletion applies, normalised, and events to be told about the component.
	Phases(
		ctx context.Context,
		c *Component,
		r applier.Request,
		t target.Target,
	) (pre, post []manifests.Object, events []status.Event, err error)
}

// Loaded is a recorded inventory.
type Loaded struct {
	Entries []metav1alpha1.InventoryEntry
	// Unsearched says where the recovery of a lost inventory could not look for dependents; empty if it looked
	// everywhere.
	Unsearched string
	// Events are to be told about the component.
	Events []status.Event
	// RecordsFound is set if records of a former rendering were found late: the kept rendering must be dropped.
	RecordsFound bool
}
