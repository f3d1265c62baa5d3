package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inclusion"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/internal/wiring"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Engine applies and deletes sets of dependents in one target. Engine works like the Reconciler, but without a
// controller. Engine keeps three things in memory: its watches, the repairs that it made, and the state of its guards.
// A guard is an admission policy that refuses new instances of a custom resource type while the definition of that type
// is being deleted. The caller has to persist the inventory. An Engine refuses externals (dependents outside
// Kubernetes), because their states need a component. An Engine is safe for concurrent use by different owners.
type Engine struct {
	name    string
	connect func(ctx context.Context, config *rest.Config) (*target.Connection, error)
	client  *target.Client
	applier *applier.Applier
}

// Options configure an Engine.
type Options struct {
	// Dependents are the policies of dependents, and what decides about their readiness. Dependents.Ignore is refused:
	// give these rules to normalise.Manifests, which makes the objects of a Request.
	Dependents component.Dependents

	// Writers is the maximum number of concurrent requests that write dependents; 16 by default. All owners share this
	// limit fairly.
	Writers int

	// CacheFull are the kinds whose dependents are cached in memory as complete objects; see component.Watching.
	CacheFull []schema.GroupKind

	// WatchScope and WatchNamespaces select the namespaces that are watched; see component.Watching. Only the
	// namespaces in WatchNamespaces are searched to rebuild a lost inventory.
	WatchScope      component.WatchScope
	WatchNamespaces []string

	// TracerProvider receives OpenTelemetry spans; see component.Telemetry.
	TracerProvider trace.TracerProvider

	// FieldOwner and PreviousFieldOwners are the field managers of the writes of dependents; see component.Names.
	FieldOwner          string
	PreviousFieldOwners []string

	// RemoteTarget is set if the components are in another cluster than the dependents. With RemoteTarget, an object in
	// the cluster of the dependents is never the component or its namespace, even if it has the same kind and name.
	RemoteTarget bool
}

// New returns an engine whose watches live as long as ctx. name is the name of the reconciler, a DNS name that is
// unique in the cluster. The rate limit in config is ignored, because the API server limits requests itself.
func New(ctx context.Context, name string, config *rest.Config, o Options) (*Engine, error) {
	if len(o.Dependents.Ignore) > 0 {
		return nil, errors.New("Dependents.Ignore in the options of the engine has no effect; give the rules to " +
			"normalise.Manifests")
	}
	parts := &wiring.Engine{Reconciler: name}
	if err := o.ofComponent().Wire(parts); err != nil {
		return nil, fmt.Errorf("options of the engine: %w", err)
	}
	connection, err := parts.Connect(ctx, config)
	if err != nil {
		return nil, err
	}
	client := connection.Own()
	client.RemoteTarget = o.RemoteTarget
	return &Engine{name: name, connect: parts.Connect, client: client, applier: parts.Applier}, nil
}

// ofComponent returns the options as those of a reconciler.
func (o Options) ofComponent() component.Options {
	return component.Options{
		Dependents: o.Dependents,
		Limits:     component.Limits{Writers: o.Writers},
		Watching:   component.Watching{CacheFull: o.CacheFull, Scope: o.WatchScope, Namespaces: o.WatchNamespaces},
		Telemetry:  component.Telemetry{TracerProvider: o.TracerProvider},
		Names:      component.Names{FieldOwner: o.FieldOwner, PreviousFieldOwners: o.PreviousFieldOwners},
	}
}

// As returns an engine that sends its requests to write, look up and adopt objects as another identity. The identity of
// e must have the right to impersonate that identity. Both engines share the watches, the network connections, and the
// limit of concurrent requests. The checks that protect foreign objects read as the identity of e, so that they do not
// depend on the rights of a component. WatchScopeIdentity is the exception: the protection checks then read as the
// other identity, and fail if that identity may not list the foreign objects.
func (e *Engine) As(id Identity) (*Engine, error) {
	other, err := e.client.As(target.Identity(id))
	if err != nil {
		return nil, err
	}
	other.RemoteTarget = e.client.RemoteTarget
	return &Engine{name: e.name, connect: e.connect, client: other, applier: e.applier}, nil
}

// Apply creates, updates and prunes dependents until they match p.Desired, as far as possible without waiting. It
// evaluates the conditions of the objects, and fills their holes.
func (e *Engine) Apply(ctx context.Context, p Request) (result.Outcome, error) {
	if err := p.refuseExternals(); err != nil {
		return result.Outcome{}, err
	}
	ctx = logging.Context(ctx)
	o, err := e.applier.Apply(ctx, e.client, e.decide(ctx, p))
	return o.Outcome, err
}

// Delete deletes the dependents in the inventory, as far as possible without waiting.
func (e *Engine) Delete(ctx context.Context, p Request) (result.Outcome, error) {
	if err := p.refuseExternals(); err != nil {
		return result.Outcome{}, err
	}
	o, err := e.applier.Delete(logging.Context(ctx), e.client, p.forApplier())
	return o.Outcome, err
}

// Plan returns the first writes that Apply would make, as Outcome.Changes, and writes nothing. Plan does not call
// Request.WriteInventory. If Outcome.Observing is set, the first list of a watch is not complete yet, and Changes is
// empty.
func (e *Engine) Plan(ctx context.Context, p Request) (result.Outcome, error) {
	if err := p.refuseExternals(); err != nil {
		return result.Outcome{}, err
	}
	ctx = logging.Context(ctx)
	return e.applier.Plan(ctx, e.client, e.decide(ctx, p)).Outcome, nil
}

// Scope returns the scope of a type in the cluster of the dependents, as normalise.Options.ScopeOf needs it. It returns
// ScopeUnknown and no error if the type is not served, and an error if the API of the type does not answer.
func (e *Engine) Scope(gvk schema.GroupVersionKind) (manifests.Scope, error) {
	return e.client.Discovery.Scope(gvk)
}

// ClusterID returns the UID of the namespace kube-system in the cluster of the dependents, for manifests.Owner.Cluster
// if the components are in the same cluster. Each call sends a request.
func (e *Engine) ClusterID(ctx context.Context) (string, error) { return e.client.ClusterID(ctx) }

// refuseExternals returns an error that names the externals in the sets and in the inventory of a pass.
func (p Request) refuseExternals() error {
	var found []string
	for _, o := range slices.Concat(p.Desired, p.PreDelete, p.PostDelete) {
		if o.Key.IsExternal() {
			found = append(found, o.Key.String())
		}
	}
	for _, entry := range p.Inventory {
		if entry.External {
			found = append(found, plan.KeyOf(entry).String())
		}
	}
	if len(found) == 0 {
		return nil
	}
	slices.Sort(found)
	return fmt.Errorf("an Engine handles no dependents outside Kubernetes, and the set or its inventory contains %s; "+
		"nothing was changed; use a Reconciler with Options.Externals for them", strings.Join(slices.Compact(found), ", "))
}

// decide returns the request of a pass without the objects that are excluded by their conditions, or not active.
func (e *Engine) decide(ctx context.Context, p Request) applier.Request {
	return p.forApplier().Decide(ctx, inclusion.Inputs{
		Namespace: p.Owner.Namespace, Name: p.Owner.Name, Parameters: p.Parameters, Served: e.client.Discovery.Serves,
	})
}

// Forget ends the watches that only the given owner uses, and drops the state of this owner's guards and repairs from
// memory.
func (e *Engine) Forget(owner manifests.Owner) {
	e.client.Release(owner)
	e.applier.Forget(owner)
}

// Identity is a user and its groups. The zero Identity is the identity of the engine's configuration. A service account
// is the user system:serviceaccount:<namespace>:<name>; the API server knows its groups.
type Identity struct {
	User   string
	Groups []string
}

// String returns a text that identifies the user and the groups. The order of the groups does not change the text.
func (id Identity) String() string { return target.Identity(id).String() }
