package target

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clienttransport "k8s.io/client-go/transport"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/execute"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/transport"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Options configure a Connection.
type Options struct {
	// Reconciler is the name of the reconciler: field manager, and prefix of labels and annotations.
	Reconciler string
	// View reduces live objects to facts.
	View inspect.View
	// Writers is the maximum number of concurrent write requests, which all components share fairly. A value below one
	// is raised to one.
	Writers int
	// CacheFull are the kinds whose dependents are stored in memory as whole objects.
	CacheFull []schema.GroupKind
	// Scope is the scope of the watches on dependents. Namespaces are the namespaces in which components are watched;
	// empty means all namespaces.
	Scope      WatchScope
	Namespaces []string
	// Wrap adds transports to all requests; nil adds no transport.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Monitor is notified of each action on a dependent.
	Monitor execute.Monitor
}

// WatchScope selects the namespaces and the identity of the watches on dependents.
type WatchScope string

// The watch scopes.
const (
	// WatchCluster means one watch for each type, on all namespaces, with the operator's identity.
	WatchCluster WatchScope = "cluster"
	// WatchNamespaces means a watch for each type and namespace with dependents, with the operator's identity.
	WatchNamespaces WatchScope = "namespaces"
	// WatchIdentity is like WatchNamespaces, but each identity has its own watches.
	WatchIdentity WatchScope = "identity"
)

// Connection is a connection to one cluster. All identities and components share it. Its own identity is the user in
// its configuration.
type Connection struct {
	options Options
	config  *rest.Config
	http    *http.Client

	// Discovery reads what the API server serves.
	Discovery *discovery.Reader
	// Observer watches dependents.
	Observer *observe.Observer
	// Namespaces watches the namespaces that dependents wait for, Awaited the objects that components wait for until
	// another client creates them, and Lookups the looked-up objects.
	Namespaces, Awaited, Lookups *observe.References
	// Started is the time at which the connection was made.
	Started time.Time
	// Operator is who the operator is. It is empty in other programs, such as previews, and must be set before the first
	// pass.
	Operator Operator

	own Client
}

// Connect returns a connection whose watches end with ctx. The client-side rate limit of config is not used, because
// the API server limits requests itself.
func Connect(ctx context.Context, config *rest.Config, o Options) (*Connection, error) {
	config, err := transport.WithDryRunCheck(config)
	if err != nil {
		return nil, err
	}
	config.QPS, config.RateLimiter = -1, nil
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if o.Wrap != nil {
		config.Wrap(o.Wrap)
	}
	config.Wrap(transport.NewRequestTimeout)
	if o.Scope == "" {
		o.Scope = WatchCluster
	}
	c := &Connection{options: o, config: config, Started: clock.RealClock{}.Now()}
	if c.http, err = rest.HTTPClientFor(config); err != nil {
		return nil, err
	}
	if c.own.Dynamic, err = dynamic.NewForConfigAndClient(config, c.http); err != nil {
		return nil, err
	}
	if c.own.Metadata, err = metadata.NewForConfigAndClient(config, c.http); err != nil {
		return nil, err
	}
	c.Discovery, err = discovery.New(ctx, discovery.Options{
		Config: config, Client: c.http, FollowDefinitions: func(ctx context.Context, event func()) {
			observe.WatchDefinitions(ctx, c.own.Metadata, event, event)
		},
	})
	if err != nil {
		return nil, err
	}
	raw, err := newRawClient(config, c.http)
	if err != nil {
		return nil, err
	}
	c.Observer = observe.New(ctx, observe.Options{
		Reconciler:   o.Reconciler,
		View:         o.View,
		Dynamic:      c.own.Dynamic,
		Metadata:     c.own.Metadata,
		Mapper:       c.Discovery.Mapper(),
		Verbs:        c.Discovery.Verbs,
		WithBodies:   slices.AppendSeq(slices.Clone(o.CacheFull), maps.Keys(o.View.Matchers)),
		PerNamespace: o.Scope != WatchCluster,
	})
	c.Namespaces = observe.NewReferences(ctx, c.own.Metadata, o.Reconciler)
	c.Awaited = observe.NewReferences(ctx, c.own.Metadata, o.Reconciler)
	c.Lookups = observe.NewReferences(ctx, c.own.Metadata, o.Reconciler)
	c.own.Executor = execute.New(execute.Options{
		Reconciler: o.Reconciler, View: o.View, Dynamic: c.own.Dynamic, REST: raw, Mapper: c.Discovery.Mapper(),
		Tracker: c.Observer, Monitor: o.Monitor, Writers: o.Writers,
	})
	c.own.Connection = c
	c.own.Reader = observe.Reader{Dynamic: c.own.Dynamic, Metadata: c.own.Metadata}
	c.own.Protecting = c.own.Executor
	return c, nil
}

// newRawClient returns a REST client for requests with absolute paths. It decodes errors of any content type.
func newRawClient(config *rest.Config, client *http.Client) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	codec := runtime.NoopEncoder{Decoder: clientgoscheme.Codecs.UniversalDecoder()}
	config.NegotiatedSerializer = serializer.NegotiatedSerializerWrapper(runtime.SerializerInfo{Serializer: codec})
	config.APIPath, config.GroupVersion = "", nil
	return rest.UnversionedRESTClientForConfigAndClient(config, client)
}

// Own returns the client of the connection's own identity.
func (c *Connection) Own() *Client {
	own := c.own
	return &own
}

// HTTP returns the client that sends all requests of the connection's own identity.
func (c *Connection) HTTP() *http.Client { return c.http }

// View returns how the reconciler sees live objects.
func (c *Connection) View() inspect.View { return c.options.View }

// ComponentNamespaces returns the namespaces in which components are watched. An empty result means all namespaces.
func (c *Connection) ComponentNamespaces() []string { return c.options.Namespaces }

// Release ends the watches that only the given owner uses.
func (c *Connection) Release(owner manifests.Owner) {
	c.Observer.Release(owner.ID())
	c.Namespaces.Release(owner.ID())
	c.Awaited.Release(owner.ID())
	c.Awaited.Release(observe.ObservedBy(owner.ID()))
	c.Lookups.Release(owner.ID())
	c.Discovery.Unsubscribe(owner.ID())
}

// closeIdle closes the network connections without a request in flight.
func (c *Connection) closeIdle() { utilnet.CloseIdleConnectionsFor(c.http.Transport) }

// ClusterID returns the UID of the namespace kube-system, which identifies the cluster.
func (c *Connection) ClusterID(ctx context.Context) (string, error) {
	namespaces := c.own.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	system, err := namespaces.Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("identify the cluster by its namespace %s: %w", metav1.NamespaceSystem, err)
	}
	return string(system.UID), nil
}

// Client sends requests over a Connection with one identity.
type Client struct {
	*Connection
	// User is the impersonated user; empty for the connection's own identity.
	User string
	// Dynamic reads and writes with the identity. Executor writes dependents with the identity.
	Dynamic  dynamic.Interface
	Executor *execute.Executor
	// Metadata reads with the connection's own identity.
	Metadata metadata.Interface
	// RemoteTarget is set if the components are in another cluster.
	RemoteTarget bool
	// Reader is the identity of the watches. Protecting makes the reads that protect foreign objects, such as the list of
	// foreign instances. These reads use the identity of the watches, because they must not depend on the rights of User.
	Reader     observe.Reader
	Protecting *execute.Executor
	// component is the component that matchers see; nil without matchers.
	component metav1.Object
}

// For returns a client for the objects of a component, which matchers see. Without matchers it returns the client
// itself.
func (c *Client) For(component metav1.Object) *Client {
	if c == nil || len(c.options.View.Matchers) == 0 {
		return c
	}
	other := *c
	other.component = component
	other.Executor = c.Executor.Seeing(other.View())
	return &other
}

// View returns how the reconciler sees live objects of the component.
func (c *Client) View() inspect.View { return c.Connection.View().For(c.component) }

// As returns a client for another identity, which the connection's own identity must be allowed to impersonate. The
// client shares the watches, the network connections, and the bound on concurrent writes. With WatchIdentity, the
// watches and the reads that protect foreign objects also use the other identity. If this identity may not list a type,
// such a read returns an error, not an empty list.
func (c *Connection) As(id Identity) (*Client, error) {
	other := c.Own()
	if id.User == "" {
		return other, nil
	}
	impersonating := *c.http
	impersonating.Transport = clienttransport.NewImpersonatingRoundTripper(
		clienttransport.ImpersonationConfig{UserName: id.User, Groups: id.Groups}, impersonating.Transport)
	raw, err := newRawClient(c.config, &impersonating)
	if err != nil {
		return nil, err
	}
	other.User = id.User
	if other.Dynamic, err = dynamic.NewForConfigAndClient(c.config, &impersonating); err != nil {
		return nil, err
	}
	other.Executor = c.own.Executor.As(id.User, other.Dynamic, raw)
	if c.options.Scope != WatchIdentity {
		return other, nil
	}
	other.Reader = observe.Reader{Name: id.String(), Dynamic: other.Dynamic}
	if other.Reader.Metadata, err = metadata.NewForConfigAndClient(c.config, &impersonating); err != nil {
		return nil, err
	}
	other.Executor = other.Executor.WithReader(other.Dynamic)
	other.Protecting = other.Executor
	return other, nil
}

// Home returns the namespace of a component if the component is in the same cluster as its dependents, and an empty
// string otherwise.
func (c *Client) Home(owner manifests.Owner) string {
	if c.RemoteTarget {
		return ""
	}
	return owner.Namespace
}
