package component

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/causes"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externals"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inventory"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/reconcile"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/schedule"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/internal/telemetry"
	"github.com/fairlead-io/fairlead/pkg/component/internal/tracing"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// stores read and write the components of a reconciler.
type stores struct {
	store  *components.Store
	owners *components.Owners
	passes *components.Passes
	// dependencies knows which components depend on each other; nil in a preview.
	dependencies *reconcile.Dependencies
}

// newStores returns what reads and writes components. c reads from a cache, and reader reads from the API server.
func (r *Reconciler[T]) newStores(c client.Client, reader client.Reader) stores {
	options := components.Options{
		Name: r.name, Finalizers: r.options.finalizers(r.name), FieldOwners: r.options.fieldOwners(r.name), GVK: r.gvk,
		New:    func() (components.Object, error) { return newObject[T]() },
		Client: c, Reader: reader, Idle: r.options.Limits.IdleInventory.kept(),
		States: r.states.Objects(), StatusWritten: r.states.StatusWritten,
		NeedsPass: r.needsPass, Wake: r.triggers.wake, OwnerChanged: r.forgetters.ForgetOwner,
	}
	options.Idle.Serve(options.FieldOwners)
	owners, passes := components.NewOwners(options), components.NewPasses(options.States)
	return stores{store: components.NewStore(options, owners, passes), owners: owners, passes: passes}
}

// parts are the objects that the ports and the runner of a reconciler, or of a preview, are built from.
type parts struct {
	stores
	local       *target.Connection
	applier     *applier.Applier
	inputs      *input.Reader
	rendering   *rendering.Renderer
	secrets     *records.Store
	inventories *inventory.Store
	metrics     *telemetry.PassMetrics
	budget      *budget.Budget
	turns       *target.Turns
}

// connect connects to the cluster of the components. The watches of the connection end with ctx.
func (r *Reconciler[T]) connect(ctx context.Context, config *rest.Config) (*target.Connection, error) {
	return r.options.connect(ctx, r.name, config)
}

// build builds the parts for the components in a cluster. fetcher fetches their sources; it may be nil.
func (r *Reconciler[T]) build(
	ctx context.Context, local *target.Connection, scheme *runtime.Scheme, s stores, fetcher Fetcher,
) (parts, error) {
	now := clock.RealClock{}
	made, err := r.options.newApplier(r.name)
	if err != nil {
		return parts{}, err
	}
	r.forgetters.OfOwner(made.Forget)
	store, owners := s.store, s.owners
	secrets := records.NewStore(records.Options{
		Reconciler: r.name, Namespace: r.options.Names.RecordNamespace,
		Dynamic: local.Own().Dynamic, Metadata: local.Own().Metadata,
		NamespaceGoes: local.Own().Executor.NamespaceGoes, VerifyCluster: owners.VerifyCluster, Clock: now,
	})
	// Each pass and each fetch that runs at the same time has an allowance.
	memory := budget.New(r.options.Limits.MemoryBudget, r.options.Limits.MaxConcurrentReconciles+input.MaxFetches)
	var fetches *input.Fetches
	if fetcher != nil {
		fetches = input.NewFetches(ctx, fetcher, now, memory)
	}
	passMetrics := telemetry.NewPassMetrics(
		r.name, tracing.New(r.options.Telemetry.TracerProvider, r.name), !r.options.Telemetry.SkipComponentMetrics)
	r.forgetters.OfComponent(passMetrics.Forget)
	references := observe.NewReferences(ctx, local.Own().Metadata, r.name)
	r.forgetters.OfComponent(func(name types.NamespacedName) { references.Release(name.String()) })
	renderer := rendering.New(rendering.Options{
		Reconciler: r.name, Generator: r.generator, Scheme: scheme, Fetches: fetches, Records: secrets, Clock: now,
		CacheBytes: r.options.Limits.RenderedBytes, SkipDeterminismCheck: r.options.SkipDeterminismCheck,
		Wake: r.triggers.wake, Adoption: r.options.Dependents.Policies.Adoption,
		Conditions: r.options.conditionNames(), Spent: passMetrics.CountRendering,
	})
	r.forgetters.OfComponent(renderer.ForgetSource)
	// The labels of the objects of a rendering contain the owner id.
	r.forgetters.OfOwner(func(owner manifests.Owner) {
		renderer.Drop(types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name})
	})
	r.forgetters.OfOwner(local.Release)
	r.forgetters.OfOwner(func(owner manifests.Owner) {
		lookup.Unfollow(local, lookup.Owner{Reconciler: owner.Reconciler, ID: owner.ID()})
	})
	return parts{
		stores: s, local: local, applier: made, rendering: renderer, secrets: secrets,
		inputs: &input.Reader{
			References: references, CanFetch: fetcher != nil,
			GeneratorVersion: input.GeneratorVersion(r.generator), Wake: r.triggers.wake,
			Type: r.gvk.GroupKind(), ReferencesOf: referencesIn(store),
		},
		inventories: inventory.NewStore(inventory.Options{
			Reconciler: r.name, Finalizers: r.options.finalizers(r.name), StatusBytes: r.options.Limits.StatusInventory,
			Components: store, Owners: owners, Records: secrets, States: r.states.Inventories(),
		}),
		metrics: passMetrics, budget: memory,
		turns: remoteTurns(r.options.Limits.MaxConcurrentReconciles, r.triggers.wake),
	}, nil
}

// record returns the records of the components. outside are their externals; nil if they have none.
func (r *Reconciler[T]) record(p parts, outside *reconcile.Externals) reconcile.ComponentRecord {
	return reconcile.ComponentRecord{
		Inventories: p.inventories, Secrets: p.secrets, Components: p.store, Owners: p.owners, States: r.states,
		DeletePolicy: p.applier.DefaultDeletePolicy(), Externals: outside,
	}
}

// referencesIn returns a function that returns the references of a component of a store.
func referencesIn(
	store *components.Store,
) func(context.Context, types.NamespacedName) ([]metav1alpha1.Reference, error) {
	return func(ctx context.Context, name types.NamespacedName) ([]metav1alpha1.Reference, error) {
		obj, err := store.LoadSpec(ctx, name)
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			return nil, nil // In a preview, the user may lack the right to read the component.
		}
		if holder, ok := components.Implementation[ReferenceHolder](obj); ok && err == nil {
			return holder.References(), nil
		}
		return nil, err
	}
}

// newPorts returns the ports of the passes of a controller. userAgent is sent to other clusters.
func (r *Reconciler[T]) newPorts(ctx context.Context, p parts, userAgent string) reconcile.Ports {
	targets := &target.Resolver{
		Local: p.local, References: p.inputs.References, DefaultServiceAccount: r.options.DefaultServiceAccount,
		Turns: p.turns, Wake: r.triggers.wake,
		Remotes: target.NewRemotes(ctx, clock.RealClock{}, func(
			ctx context.Context, kubeconfig []byte,
		) (*target.Connection, error) {
			remote, err := target.ParseKubeconfig(kubeconfig)
			if err != nil {
				return nil, err
			}
			remote.UserAgent = userAgent
			return r.connect(ctx, remote)
		}),
	}
	outside := r.newExternals(ctx, p)
	r.forgetters.OfOwner(outside.Forget)
	r.forgetters.OfOwner(targets.Release)
	record := r.record(p, outside)
	return reconcile.Ports{
		Owners: p.owners, Targets: targets, Inputs: p.inputs, Inventory: record, Rendering: p.rendering, Applier: p.applier,
		EventSources: r.eventSources, Tell: r.tell,
		Store: p.store, Records: record, InFlight: p.passes, Quotas: r.quotas, Externals: outside, Causes: causes.Events{},
	}
}

// newRunner returns the Runner that makes passes with the given ports.
func (r *Reconciler[T]) newRunner(p parts, ports reconcile.Ports) *reconcile.Runner {
	limit := schedule.Limit{Limiter: r.options.Intervals.Limiter}
	r.forgetters.OfComponent(limit.Forget)
	var tellDependent func(components.Object, status.DependentEvent)
	if r.options.Telemetry.DependentEvents {
		tellDependent = r.tellDependent
	}
	return &reconcile.Runner{
		Pass: reconcile.Pass{
			Ports: ports, Reconciler: r.name, Finalizers: r.options.finalizers(r.name), Author: r.author(),
			Dependencies: p.dependencies, Metrics: p.metrics, Clock: clock.RealClock{}, Wake: r.triggers.wake,
		},
		Turns: p.turns, Budget: p.budget, Sources: p.rendering, States: r.states, Kind: r.gvk.Kind,
		MinInterval: r.options.Intervals.Min, Limiter: limit, TellDependent: tellDependent, Forgetters: &r.forgetters,
	}
}

// newExternals returns the dependents outside Kubernetes of all components, nil if the reconciler has no handlers.
func (r *Reconciler[T]) newExternals(ctx context.Context, p parts) *reconcile.Externals {
	if len(r.options.Externals) == 0 && r.options.ExternalsOf == nil {
		return nil
	}
	states := &externalstate.Store{Records: p.secrets}
	monitor := r.options.monitor(r.name)
	manager := externals.New(ctx, externals.Options{
		Reconciler: r.name, View: p.local.View(), States: states, Credentials: p.secrets.Finalizers,
		Clock: clock.RealClock{}, Wake: r.triggers.wake, Monitor: monitor,
		Tell: func(name types.NamespacedName, reason, message string) {
			if obj, err := p.store.Load(ctx, name); err == nil {
				r.tell(obj, status.Event{Type: corev1.EventTypeNormal, Reason: reason, Note: message})
			}
		},
	})
	context.AfterFunc(ctx, monitor.ExportExternals(manager))
	return &reconcile.Externals{Reader: p.inputs, States: states, Manager: manager, GVK: r.gvk}
}

// eventSourceHost returns what event sources need of the reconciler.
func (r *Reconciler[T]) eventSourceHost(p parts) eventsources.Host {
	return eventsources.Host{
		Counter: r.options.monitor(r.name).CountEventSource,
		Wake:    r.triggers.wake, Home: eventsources.ClusterOf(p.local), Namespaces: p.local.ComponentNamespaces(),
		Load: func(ctx context.Context, name types.NamespacedName) (client.Object, error) {
			return p.store.LoadSpec(ctx, name)
		},
		List: func(ctx context.Context) ([]client.Object, error) {
			cached, err := p.store.ListCached(ctx)
			objects := make([]client.Object, 0, len(cached))
			for _, c := range cached {
				objects = append(objects, c)
			}
			return objects, err
		},
	}
}

// remoteTurns returns the slots for passes over components with a kubeconfig: half of the workers, and a quarter for
// each namespace. So clusters that do not respond never occupy all workers. wake starts a pass over a component.
func remoteTurns(workers int, wake func(types.NamespacedName)) *target.Turns {
	return target.NewTurns(max(1, workers/2), max(1, workers/4), wake)
}

// checkWatchScope returns an error if the components are cluster-scoped and the watch scope is WatchScopeNamespaces.
func (r *Reconciler[T]) checkWatchScope(local *target.Connection) error {
	if r.options.Watching.Scope != WatchScopeNamespaces {
		return nil
	}
	scope, err := local.Discovery.Scope(r.gvk)
	if err == nil && scope == manifests.ScopeCluster {
		err = fmt.Errorf("Options.Watching.Scope: %s is cluster-scoped, so it cannot be watched in some namespaces "+
			"only; set it to %q or %q", r.gvk.Kind, WatchScopeCluster, WatchScopeIdentity)
	}
	return err
}

// collectedComponents implements records.Components and applier.GuardOwners for the garbage collection of Secrets and
// guards.
type collectedComponents struct {
	stores
	states *reconcile.States
	wake   func(types.NamespacedName)
}

// Cached implements records.Components.
func (c collectedComponents) Cached(ctx context.Context) (map[string]records.Component, error) {
	cached, err := c.store.ListCached(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]records.Component{}
	for _, component := range cached {
		name := client.ObjectKeyFromObject(component)
		cluster, err := c.owners.ClusterOf(ctx, component)
		if err != nil {
			return nil, err
		}
		owner := c.owners.In(cluster, name)
		found[owner.ID()] = records.Component{
			Name: name, Owner: owner, Status: component.GetStatus(), IsDeleted: !component.GetDeletionTimestamp().IsZero(),
		}
	}
	return found, nil
}

// Identity implements records.Components.
func (c collectedComponents) Identity(ctx context.Context) (manifests.Owner, error) {
	cluster, err := c.owners.ClusterID(ctx)
	return c.owners.In(cluster, types.NamespacedName{}), err
}

// Live implements records.Components.
func (c collectedComponents) Live(ctx context.Context, namespace string) ([]types.NamespacedName, error) {
	return c.store.ListLive(ctx, namespace)
}

// Exists implements applier.GuardOwners.
func (c collectedComponents) Exists(ctx context.Context, owner manifests.Owner) (bool, error) {
	_, err := c.store.Live(ctx, types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name})
	if apierrors.IsConflict(err) {
		return false, nil
	}
	return err == nil, err
}

// Unnamed implements records.Components.
func (c collectedComponents) Unnamed(component types.NamespacedName, secret *metav1.PartialObjectMetadata) {
	c.states.Of(component).Inventory.Records.AddUnnamedSecret(secret)
	c.wake(component)
}

// Lost implements records.Components.
func (c collectedComponents) Lost(component types.NamespacedName, kind records.Kind) {
	c.states.Of(component).Inventory.Records.SetID(kind, records.Lost)
	c.wake(component)
}
