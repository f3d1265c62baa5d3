package component

import (
	"context"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/internal/telemetry"
	"github.com/fairlead-io/fairlead/pkg/component/internal/tracing"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Engine applies and deletes sets of dependents in one target. It is the Reconciler without a controller: it keeps no
// state but that of its watches, its guards and its repairs. The caller persists the inventory. It is safe for
// concurrent use by different owners.
type Engine struct {
	client  *target.Client
	applier *applier.Applier
}

// EngineOptions configure an Engine.
type EngineOptions struct {
	// Policies of dependents that name none, in passes that name none.
	Policies Policies
	// PreviousManagers are those of Options.
	PreviousManagers []string
	// Incidental are those of Options.
	Incidental []Incidental
	// Writers bounds the concurrent requests, which all owners share fairly; 16 by default.
	Writers int
	// CacheFull are the kinds whose dependents are kept whole in memory; see Options.CacheFull.
	CacheFull []schema.GroupKind
	// WatchScope and WatchNamespaces are those of Options. A lost inventory is rebuilt from these namespaces.
	WatchScope      WatchScope
	WatchNamespaces []string
	// RemoteTarget is set if the components live in another cluster than the dependents: an object there with the name
	// of the component, or of its namespace, is another object.
	RemoteTarget bool
	// TracerProvider is that of Options.
	TracerProvider trace.TracerProvider
}

// NewEngine returns an engine whose watches live as long as ctx. The name is the reconciler's: a DNS name that is
// unique in the cluster. config is used without a rate limit of the client; the API server has its own.
func NewEngine(ctx context.Context, name string, config *rest.Config, o EngineOptions) (*Engine, error) {
	if err := o.WatchScope.Check(o.WatchNamespaces); err != nil {
		return nil, fmt.Errorf("EngineOptions.WatchScope and WatchNamespaces: %w", err)
	}
	made, err := o.newApplier(name)
	if err != nil {
		return nil, err
	}
	connection, err := o.connect(ctx, name, config)
	if err != nil {
		return nil, err
	}
	client := connection.Own()
	client.RemoteTarget = o.RemoteTarget
	return &Engine{client: client, applier: made}, nil
}

// connect connects to a cluster.
func (o EngineOptions) connect(ctx context.Context, name string, config *rest.Config) (*target.Connection, error) {
	if err := metrics.Register(); err != nil {
		return nil, fmt.Errorf("register the metrics: %w", err)
	}
	monitor := o.monitor(name)
	return target.Connect(ctx, config, target.Options{
		Reconciler: name, Writers: o.Writers, CacheFull: o.CacheFull, Scope: target.WatchScope(o.WatchScope),
		Namespaces: o.WatchNamespaces, Wrap: monitor.Meter.Transport, Monitor: monitor,
	})
}

// newApplier returns the applier of a reconciler.
func (o EngineOptions) newApplier(name string) (*applier.Applier, error) {
	incidental, err := incidentals(o.Incidental)
	if err != nil {
		return nil, err
	}
	return applier.New(applier.Options{
		Reconciler:       name,
		Policies:         o.Policies.Or(defaultPolicies),
		PreviousManagers: slices.Concat(plan.PreviousManagers, o.PreviousManagers),
		Incidental:       incidental,
		Monitor:          o.monitor(name),
	}), nil
}

func (o EngineOptions) monitor(name string) telemetry.Monitor {
	return telemetry.Monitor{Meter: metrics.Shared.Meter(name), Tracer: tracing.New(o.TracerProvider, name)}
}

// As returns an engine that writes, looks up and adopts as another identity, which the engine's own must be allowed to
// impersonate. It shares the watches, the network connections, and the bound on concurrent requests with this engine.
// The objects of others are protected by reads as the engine's own identity, because they must not depend on the rights
// of a component. Only with WatchScopeIdentity they are read as the other identity; a list that it may not make is an
// error then.
func (e *Engine) As(id Identity) (*Engine, error) {
	other, err := e.client.As(target.Identity(id))
	if err != nil {
		return nil, err
	}
	other.RemoteTarget = e.client.RemoteTarget
	return &Engine{client: other, applier: e.applier}, nil
}

// Apply brings the dependents closer to the apply set, as far as possible without waiting.
func (e *Engine) Apply(ctx context.Context, p Pass) (Outcome, error) {
	o, err := e.applier.Apply(ctx, e.client, p.request())
	return publicOutcome(o), err
}

// Delete deletes the dependents in the inventory, as far as possible without waiting.
func (e *Engine) Delete(ctx context.Context, p Pass) (Outcome, error) {
	o, err := e.applier.Delete(ctx, e.client, p.request())
	return publicOutcome(o), err
}

// Plan returns the writes that Apply would begin with, as Changes, and writes nothing. Record is not called. While
// Observing is set nothing is known yet.
func (e *Engine) Plan(ctx context.Context, p Pass) (Outcome, error) {
	return publicOutcome(e.applier.Plan(ctx, e.client, p.request())), nil
}

// Tree reads the dependents of an inventory; see the function Tree.
func (e *Engine) Tree(ctx context.Context, reader TreeReader, inventory []metav1alpha1.InventoryEntry) ([]Node, error) {
	return Tree(ctx, reader, inventory)
}

// Forget ends the watches that only serve an owner, and drops what is remembered of its guard and its repairs.
func (e *Engine) Forget(owner manifests.Owner) {
	e.client.Release(owner)
	e.applier.Forget(owner)
}

// Identity is a user and its groups. The zero Identity is that of the engine's configuration. A service account is the
// user system:serviceaccount:<namespace>:<name>; the API server knows its groups.
type Identity struct {
	User   string
	Groups []string
}

// String identifies the identity; the order of the groups does not matter.
func (id Identity) String() string { return target.Identity(id).String() }
