package component

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clienttransport "k8s.io/client-go/transport"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/execute"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/tracing"
	"github.com/fairlead-io/fairlead/pkg/component/internal/transport"
)

// connection is what the engines of all identities share in one cluster: the watches and what they know, the knowledge of types, the
// network connections, and the bound on requests. Its clients are those of the identity that watches.
type connection struct {
	name     string
	defaults Policies
	// predecessors are the managers that leave their fields to us.
	predecessors []string
	// incidental are the objects that hold up no deletion of their namespace.
	incidental []Incidental
	config     *rest.Config
	client     *http.Client
	discovery  *discovery.Reader
	watching   dynamic.Interface
	metadata   metadata.Interface
	observer   *observe.Observer
	// namespaces are those that dependents could not be created in.
	namespaces *observe.References
	// lookups are the objects that components looked up when they were rendered.
	lookups *observe.References
	// checking acts as the identity that watches.
	checking *execute.Executor
	// reach says whether identities watch themselves, and observed are the namespaces where components are watched; nil for all.
	reach    Reach
	observed []string
	guards   guardBook
	repairs  repairBook
	monitor  monitor
	// started is when the connection was made.
	started time.Time
}

// connect returns a connection whose watches live as long as ctx.
func connect(ctx context.Context, name string, config *rest.Config, o EngineOptions) (*connection, error) {
	config, err := transport.WithDryRunGuard(config)
	if err != nil {
		return nil, err
	}
	config.QPS, config.RateLimiter = -1, nil
	if err := metrics.Register(); err != nil {
		return nil, fmt.Errorf("register the metrics: %w", err)
	}
	watched := monitor{meter: metrics.Shared.Meter(name), tracer: tracing.New(o.TracerProvider, name)}
	config.Wrap(watched.meter.Transport)
	config.Wrap(transport.NewRequestTimeout)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	c := &connection{
		name: name, defaults: o.Policies.Or(defaultPolicies), predecessors: slices.Concat(plan.Predecessors, o.Predecessors),
		config: config, client: client, monitor: watched, started: clock.RealClock{}.Now(),
		reach: cmp.Or(o.Observe, ReachCluster), observed: o.ObserveNamespaces,
	}
	if c.incidental, err = incidentals(o.Incidental); err != nil {
		return nil, err
	}
	if c.watching, err = dynamic.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	if c.metadata, err = metadata.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	if c.discovery, err = discovery.New(ctx, discovery.Options{
		Config: config, Client: client, FollowDefinitions: func(ctx context.Context, event func()) {
			observe.WatchDefinitions(ctx, c.metadata, event, event)
		},
	}); err != nil {
		return nil, err
	}
	raw, err := newRawClient(config, client)
	if err != nil {
		return nil, err
	}
	if o.Writers <= 0 {
		o.Writers = 16
	}
	c.observer = observe.New(ctx, observe.Options{
		Reconciler: name, Dynamic: c.watching, Metadata: c.metadata, Mapper: c.discovery.Mapper(), Verbs: c.discovery.Verbs,
		WithBodies: o.CacheFull, PerNamespace: c.reach != ReachCluster,
	})
	c.namespaces = observe.NewReferences(ctx, c.metadata, name)
	c.lookups = observe.NewReferences(ctx, c.metadata, name)
	c.checking = execute.New(execute.Options{
		Reconciler: name, Dynamic: c.watching, REST: raw, Mapper: c.discovery.Mapper(),
		Journal: c.observer, Monitor: c.monitor, Writers: o.Writers,
	})
	return c, nil
}

// newRawClient returns a REST client for requests that name their absolute path. It decodes errors of any content type.
func newRawClient(config *rest.Config, client *http.Client) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	codec := runtime.NoopEncoder{Decoder: clientgoscheme.Codecs.UniversalDecoder()}
	config.NegotiatedSerializer = serializer.NegotiatedSerializerWrapper(runtime.SerializerInfo{Serializer: codec})
	config.APIPath, config.GroupVersion = "", nil
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	return rest.UnversionedRESTClientForConfigAndClient(config, client)
}

// itself returns the engine of the identity that the connection was made with.
func (c *connection) itself() *Engine {
	viewer := observe.Reader{Dynamic: c.watching, Metadata: c.metadata}
	return &Engine{connection: c, dynamic: c.watching, executor: c.checking, viewer: viewer, protecting: c.checking}
}

// As returns an engine that writes, looks up and adopts as another identity, which the engine's own must be allowed to impersonate. It
// shares with this engine the watches, the network connections, and the bound on requests under way. What protects objects of others is
// still read as the engine's own identity: it must not depend on what a component may see. Only where each identity watches for itself is
// that read as the other, too; what it may not list is not taken for nothing.
func (e *Engine) As(id Identity) (*Engine, error) {
	other := e.itself()
	other.elsewhere = e.elsewhere
	if other.user = id.User; id.User == "" {
		return other, nil
	}
	impersonating := *e.client
	impersonating.Transport = clienttransport.NewImpersonatingRoundTripper(
		clienttransport.ImpersonationConfig{UserName: id.User, Groups: id.Groups}, impersonating.Transport)
	raw, err := newRawClient(e.config, &impersonating)
	if err != nil {
		return nil, err
	}
	if other.dynamic, err = dynamic.NewForConfigAndClient(e.config, &impersonating); err != nil {
		return nil, err
	}
	other.executor = e.checking.As(id.User, other.dynamic, raw)
	if e.reach != ReachIdentity {
		return other, nil
	}
	other.viewer = observe.Reader{Name: id.String(), Dynamic: other.dynamic}
	if other.viewer.Metadata, err = metadata.NewForConfigAndClient(e.config, &impersonating); err != nil {
		return nil, err
	}
	other.executor = other.executor.Seeing(other.dynamic)
	other.protecting = other.executor
	return other, nil
}
