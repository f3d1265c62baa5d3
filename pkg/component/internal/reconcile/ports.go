package reconcile

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/causes"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Ports are the collaborators of a Pass. A preview supplies other implementations of the ports that write, wait or
// impersonate.
type Ports struct {
	Owners    Owners
	Targets   Targets
	Inputs    Inputs
	Inventory Inventory
	Rendering Rendering
	Applier   Applier
	// EventSources holds the values of event sources.
	EventSources EventSources
	// Tell creates an Event about a component.
	Tell func(obj components.Object, e status.Event)

	// Store writes components, Records deletes their records, and InFlight holds the running passes, so that a change of
	// a component can interrupt its pass. They are nil in a preview.
	Store    *components.Store
	Records  Records
	InFlight *components.Passes
	// Quotas bounds the dependents of a namespace; nil if there are no quotas, and in a preview.
	Quotas *Quotas
	// Externals holds the dependents outside Kubernetes; nil in a preview.
	Externals *Externals
	// Causes is nil in a preview.
	Causes Causes
}

// Owners returns the owners of dependents: the identities of components.
type Owners interface {
	// Of returns the owner of the dependents of a component.
	Of(ctx context.Context, obj components.Object) (manifests.Owner, error)
	// VerifyCluster confirms the cluster id of a component before the first write of a pass.
	VerifyCluster(ctx context.Context, name types.NamespacedName) error
	// Known returns the owner as the last pass over the component determined it.
	Known(name types.NamespacedName) manifests.Owner
}

// Targets returns the target of a component: the cluster of its dependents, and clients for this cluster.
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
	// Last returns the set of a component that was rendered last, if it is in memory, and was rendered from the inputs
	// that the status names, for the given cluster.
	Last(name types.NamespacedName, status *metav1alpha1.Status, cluster string) (rendering.Set, bool)
	Drop(name types.NamespacedName)
}

// Applier applies and deletes dependents.
type Applier interface {
	Apply(ctx context.Context, client *target.Client, r applier.Request) (outcome.Outcome, error)
	Delete(ctx context.Context, client *target.Client, r applier.Request) (outcome.Outcome, error)
	// Count returns an outcome with the numbers of the recorded dependents that exist and are ready. known is false if the
	// state of some of them is not known.
	Count(client *target.Client, r applier.Request) (o outcome.Outcome, known bool)
}

// Causes finds why dependents are not ready.
type Causes interface {
	// CauseOf returns the cause in one line, and an empty text if it is not known.
	CauseOf(ctx context.Context, client *target.Client, o causes.Object) string
}

// Inventory reads and writes the recorded inventory of dependents and the other records of a component: pinned values,
// and the objects of deletion phases.
type Inventory interface {
	// Load returns the recorded inventory. If the inventory was lost or edited, it is rebuilt from the owner labels of
	// live objects, and written to the status, before anything is planned.
	Load(ctx context.Context, c *Component, owner manifests.Owner, t target.Target) (Loaded, error)
	// Recorded returns the recorded entries, without any recovery.
	Recorded(ctx context.Context, c *Component, owner manifests.Owner) ([]metav1alpha1.InventoryEntry, error)
	// ProtectKubeconfig adds our finalizer to the Secret with the kubeconfig of the target cluster. If the component
	// named another Secret before, the finalizer is removed from that Secret.
	ProtectKubeconfig(ctx context.Context, c *Component, owner manifests.Owner) error
	// CheckKubeconfig checks that the Secret with the kubeconfig of a target still has our finalizer. If somebody
	// removed the finalizer, the next ProtectKubeconfig adds it again.
	CheckKubeconfig(c *Component, owner manifests.Owner, t target.Target)
	// Announce prepares the component for the first record of deletion phases, while its status describes the previous
	// revision.
	Announce(ctx context.Context, c *Component, set rendering.Set) error
	// Begin stores pinned values and the objects of deletion phases, before any object of the set is applied. A later
	// pass cannot render these values and objects again. If Begin fails, the status names the previous pinned values.
	Begin(ctx context.Context, c *Component, owner manifests.Owner, set rendering.Set) error
	// Begun deletes what the set replaces, after its revision has begun.
	Begun(ctx context.Context, c *Component, owner manifests.Owner, set rendering.Set) error
	// WriteInventory writes an inventory. It must be called before the first write to a dependent that is missing in
	// the stored inventory. recorded refers to the inventory that was stored before.
	WriteInventory(
		ctx context.Context, c *Component, recorded components.InventoryRef, entries []metav1alpha1.InventoryEntry,
	) error
	// Phases returns the objects, normalised, that a deletion applies before (pre) and after (post) it deletes the
	// dependents. Phases also returns Events to be created for the component.
	Phases(
		ctx context.Context,
		c *Component,
		r applier.Request,
		t target.Target,
	) (pre, post []manifests.Object, events []status.Event, err error)
}

// Loaded is the result of Inventory.Load.
type Loaded struct {
	Entries []metav1alpha1.InventoryEntry
	// Persisted is the persisted inventory if Entries are newer, because the last pass ended without a report. It is nil
	// otherwise. Unrecorded is set if Entries must be persisted before the next write.
	Persisted  plan.Inventory
	Unrecorded bool
	// Unsearched names the types and namespaces in which the recovery of a lost inventory could not search for
	// dependents. Unsearched is empty if the search was complete.
	Unsearched string
	// Events are the Events to be created for the component.
	Events []status.Event
	// RecordsFound is set if this pass found records of a previous rendering that earlier passes could not search for.
	// The caller must drop the cached rendering, because the recorded rendering replaces it.
	RecordsFound bool
}
