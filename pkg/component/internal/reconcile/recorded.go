package reconcile

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inventory"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ComponentRecord implements Inventory and Records. ComponentRecord keeps the records of a component in its status and
// in Secrets.
type ComponentRecord struct {
	Inventories *inventory.Store
	Secrets     *records.Store
	Components  *components.Store
	Owners      *components.Owners
	States      *States
	Externals   *Externals
	// DeletePolicy is the delete policy of dependents if neither their manifests nor their component set one.
	DeletePolicy metav1alpha1.DeletePolicy
}

// Load implements Inventory. If the component has dependents and somebody removed the finalizer, Load adds the
// finalizer again.
func (r ComponentRecord) Load(
	ctx context.Context,
	c *Component,
	owner manifests.Owner,
	t target.Target,
) (Loaded, error) {
	entries, event, err := r.Inventories.Load(
		ctx,
		c.Object,
		owner,
		func() inventory.Recovery { return r.recovery(c, owner, t) },
	)
	loaded := Loaded{Entries: entries, Unsearched: c.State.Inventory.Unsearched()}
	if event.Type != "" {
		loaded.Events = append(loaded.Events, event)
	}
	if err != nil {
		return loaded, err
	}
	if loaded.RecordsFound, err = r.Inventories.FindOthers(ctx, c.Object, owner); err != nil {
		return loaded, err
	}
	if len(entries) > 0 && !c.IsDeleted() {
		err = r.Components.AddFinalizer(ctx, c.Object)
	}
	return loaded, err
}

// recovery returns the parameters for the recovery of the component's inventory, in case it was lost.
func (r ComponentRecord) recovery(c *Component, owner manifests.Owner, t target.Target) inventory.Recovery {
	recovery := RecoveryOf(c, t, r.DeletePolicy)
	if r.Externals != nil {
		recovery.Externals = func(ctx context.Context) ([]metav1alpha1.InventoryEntry, error) {
			return r.Externals.recorded(ctx, owner, recovery.DeletePolicy)
		}
	}
	return recovery
}

// RecoveryOf returns the parameters for the recovery of the component's inventory, in case it was lost. fallback is the
// delete policy of dependents if neither their manifests nor the component set a delete policy.
func RecoveryOf(c *Component, t target.Target, fallback metav1alpha1.DeletePolicy) inventory.Recovery {
	policies := c.Policies.Or(metav1alpha1.Policies{Delete: fallback})
	recovery := inventory.Recovery{
		Searcher: inventory.LabelSearch{
			Discovery: t.Client.Discovery, Metadata: t.Client.Reader.Metadata, Dynamic: t.Client.Reader.Dynamic,
			Wrote: t.Client.View().Wrote,
		},
		DeletePolicy: plan.DefaultDeletePolicy(policies.Reconcile, policies.Delete),
		Cluster:      t.Cluster, Namespace: c.Namespace, Name: c.TargetName, Namespaces: t.Client.ComponentNamespaces(),
		User: t.Client.User, AsOperator: t.Client.Reader.Name == "", Remote: t.Client.RemoteTarget,
		NamespaceGoes: t.Client.Own().Executor.NamespaceGoes,
	}
	// Types that cannot be parsed are ignored, because an apply with such types fails.
	if managed, err := input.ManagedTypes(c.ManagedTypes); err == nil {
		recovery.ManagedTypes = input.TypeTexts(managed)
	}
	return recovery
}

// Recorded implements Inventory.
func (r ComponentRecord) Recorded(
	ctx context.Context, c *Component, owner manifests.Owner,
) ([]metav1alpha1.InventoryEntry, error) {
	return r.Inventories.Recorded(ctx, c.Object, owner)
}

// ProtectKubeconfig implements Inventory. Without the finalizer, the deletion of the component's namespace could delete
// the Secret before the dependents, and then no component could reach the cluster of the dependents any more.
// Status.TargetSecret names the Secret that has the finalizer.
func (r ComponentRecord) ProtectKubeconfig(ctx context.Context, c *Component, owner manifests.Owner) error {
	s, declared := *c.GetStatus(), ""
	if c.Target.KubeConfig != nil {
		declared = c.Target.KubeConfig.Name
	}
	if s.TargetSecret == declared {
		return nil
	}
	if err := r.Secrets.Finalizers.Move(ctx, owner, s.TargetSecret, declared); err != nil {
		return err
	}
	s.TargetSecret = declared
	c.SetStatus(s)
	return nil
}

// CheckKubeconfig implements Inventory. A missing finalizer is ignored if both the Secret and the component are being
// deleted, because the API server refuses new finalizers on an object that is being deleted.
func (r ComponentRecord) CheckKubeconfig(c *Component, owner manifests.Owner, t target.Target) {
	s, secret := *c.GetStatus(), t.Kubeconfig
	if secret == nil || s.TargetSecret != secret.GetName() || r.Secrets.Finalizers.Has(secret, owner) {
		return
	}
	if secret.GetDeletionTimestamp() == nil || !c.IsDeleted() {
		s.TargetSecret = ""
		c.SetStatus(s)
	}
}

// Announce implements Inventory. It does nothing if the previous revision has no pinned values that could be lost.
func (r ComponentRecord) Announce(ctx context.Context, c *Component, set rendering.Set) error {
	if c.GetStatus().RenderedSet == "" {
		return nil
	}
	return r.Inventories.Phases().Announce(ctx, c.Object, set.Phases())
}

// Begin implements Inventory. The status that names the record of the rendering is written last. So the start of a
// revision succeeds with this write, and until then the status names the previous revision and its record.
func (r ComponentRecord) Begin(ctx context.Context, c *Component, owner manifests.Owner, set rendering.Set) error {
	recorded, err := pinnedSet(set)
	if err != nil {
		return err
	}
	pinned, previous := r.Inventories.Pinned(), c.GetStatus().RenderedSet
	if err = pinned.Record(ctx, c.Object, owner, recorded); err == nil {
		err = r.Inventories.Phases().Record(ctx, c.Object, owner, set.Phases())
	}
	if err == nil {
		err = pinned.Name(ctx, c.Object, previous)
	}
	if err != nil {
		pinned.Withdraw(c.Object, previous)
	}
	return err
}

// Begun implements Inventory.
func (r ComponentRecord) Begun(ctx context.Context, c *Component, owner manifests.Owner, set rendering.Set) error {
	recorded, err := pinnedSet(set)
	if err != nil {
		return err
	}
	return r.Inventories.Pinned().Begun(ctx, c.Object, owner, recorded)
}

// pinnedSet returns what is recorded of a set with pinned values. The result has no ID if the set is deterministic.
func pinnedSet(set rendering.Set) (recorded inventory.Set, err error) {
	recorded = inventory.Set{
		ID: set.ID, Proof: set.Proof, Note: set.Note, ValuesLost: set.ValuesLost, Manifests: set.Manifests.All,
	}
	if recorded.ID != "" {
		recorded.Capabilities, err = set.Lookups.RecordCapabilities()
	}
	return recorded, err
}

// WriteInventory implements Inventory.
func (r ComponentRecord) WriteInventory(
	ctx context.Context, c *Component, recorded components.InventoryRef, entries []metav1alpha1.InventoryEntry,
) error {
	return r.Inventories.Write(ctx, c.Object, recorded, entries)
}

// Phases implements Inventory.
func (r ComponentRecord) Phases(
	ctx context.Context, c *Component, req applier.Request, t target.Target,
) (pre, post []manifests.Object, events []status.Event, err error) {
	bodies, lost, err := r.Inventories.Phases().Recall(ctx, c.Object, req.Owner, len(req.Inventory) > 0)
	if lost.Type != "" {
		events = append(events, lost)
	}
	if err != nil || len(bodies) == 0 {
		return nil, nil, events, err
	}
	pre, post, err = rendering.NormalisePhases(bodies, req.Owner, t.Client.Discovery.Scope, req.Managed)
	return pre, post, events, err
}

// DeleteStale implements Records.
func (r ComponentRecord) DeleteStale(ctx context.Context, c *Component) error {
	return r.Inventories.DeleteStale(ctx, c.Object)
}

// End implements Records. The empty inventory is written to the status before the Secrets are deleted. So after a crash
// in between, the next pass does not fail because the kubeconfig, the phases or the inventory are missing.
func (r ComponentRecord) End(ctx context.Context, c *Component, owner manifests.Owner) error {
	if err := r.writeEmpty(ctx, c); err != nil {
		return err
	}
	s := c.GetStatus()
	if err := r.Secrets.Finalizers.Remove(ctx, owner, s.TargetSecret); err != nil {
		return err
	}
	if k := c.Target.KubeConfig; k != nil && k.Name != s.TargetSecret {
		// The declared Secret may have the finalizer although the status does not name it: the process may have crashed
		// before it wrote the status.
		if err := r.Secrets.Finalizers.Remove(ctx, owner, k.Name); err != nil {
			return err
		}
	}
	if err := r.Inventories.Phases().End(ctx, c.Object, owner); err != nil {
		return err
	}
	if err := r.Inventories.Pinned().End(ctx, c.Object, owner); err != nil {
		return err
	}
	if err := r.Externals.End(ctx, owner); err != nil {
		return err
	}
	return r.Inventories.DeleteAll(ctx, c.Object, owner)
}

// writeEmpty writes an empty inventory to the status. writeEmpty does nothing if the status names no Secret.
func (r ComponentRecord) writeEmpty(ctx context.Context, c *Component) error {
	s := c.GetStatus()
	recorded := components.RefOf(s)
	isComplete := recorded.Empty() && !components.Damaged(c.Object, r.Inventories.Finalizers)
	if isComplete || s.TargetSecret == "" && s.PhaseRecord == "" && !s.HasInventoryRecord() {
		return nil
	}
	if err := r.Inventories.Write(ctx, c.Object, recorded, nil); err != nil {
		return err
	}
	written := *c.GetStatus()
	written.AppliedDigest, written.AppliedGeneration = "", 0
	c.SetStatus(written)
	return r.Components.WriteStatus(ctx, c.Object, recorded)
}

// RememberOwned implements Records.
func (r ComponentRecord) RememberOwned(c *Component) {
	c.State.Inventory.Records.SetOwned(records.OwnedBy(c.GetUID(), c.GetStatus()))
}

// ReleaseLeft implements Records. ReleaseLeft is needed if somebody removed our finalizer from a component that was
// being deleted, because then no pass released the Secrets.
func (r ComponentRecord) ReleaseLeft(ctx context.Context, name types.NamespacedName, uid types.UID) error {
	state := &r.States.Of(name).Inventory.Records
	left, ok := state.LeftBy(uid)
	if !ok {
		return nil
	}
	// The cluster id is read from the API server, because somebody may have edited the cluster id in the status of the
	// deleted component.
	cluster, err := r.Owners.ClusterID(ctx)
	if err != nil {
		return err
	}
	return r.Secrets.Remover.Release(ctx, state, r.Owners.In(cluster, name), left)
}

// ReleaseVanished implements Records. A component that is missing in the cache may still exist, because the cache may
// be restricted to some components by a selector or namespaces. So the component is read from the API server first.
func (r ComponentRecord) ReleaseVanished(ctx context.Context, name types.NamespacedName) error {
	if _, ok := r.States.Of(name).Inventory.Records.LeftBy(""); !ok {
		return nil
	}
	live, err := r.Components.Live(ctx, name)
	if apierrors.IsConflict(err) {
		return r.ReleaseLeft(ctx, name, "")
	}
	if err != nil {
		return err
	}
	return r.ReleaseLeft(ctx, name, live.GetUID())
}
