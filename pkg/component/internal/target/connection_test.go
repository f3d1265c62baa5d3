package target

import (
	"net/http"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/execute"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const reconciler = "shops.example.com"

var (
	secrets   = corev1.SchemeGroupVersion.WithResource("secrets")
	component = manifests.Owner{
		Cluster: "here", Reconciler: reconciler, Group: "example.com", Kind: "Shop", Namespace: "shop", Name: "web",
	}
)

func connectTo(t *testing.T, server *apiservertest.Server, o Options) *Connection {
	t.Helper()
	o.Reconciler = reconciler
	connection, err := Connect(t.Context(), server.Config(), o)
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

func TestConnectWrapsRequestsAndFillsDefaults(t *testing.T) {
	server := apiservertest.New(t)
	var paths []string
	connection := connectTo(t, server, Options{
		Namespaces: []string{"shop"},
		Wrap: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				paths = append(paths, r.URL.Path)
				return next.RoundTrip(r)
			})
		},
	})
	if connection.options.Scope != WatchCluster || connection.config.UserAgent == "" {
		t.Errorf("the connection has the wrong default options %+v", connection.options)
	}
	if got := connection.ComponentNamespaces(); !slices.Equal(got, []string{"shop"}) {
		t.Errorf("ComponentNamespaces returned %v", got)
	}
	want := string(server.Object("v1", "Namespace", "", "kube-system").GetUID())
	if got, err := connection.ClusterID(t.Context()); err != nil || got != want {
		t.Errorf("ClusterID returned %q and the error %v, want %q", got, err, want)
	}
	if !slices.Contains(paths, "/api/v1/namespaces/kube-system") || connection.HTTP() == nil {
		t.Errorf("the wrapped transport received only the requests %v", paths)
	}
	server.Delete("v1", "Namespace", "", "kube-system")
	if _, err := connection.ClusterID(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("ClusterID of a cluster without kube-system returned %v, want a NotFound error", err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestConnectRefusesAConfigurationThatContradictsItself(t *testing.T) {
	config := apiservertest.New(t).Config()
	config.CertFile = "no such file"
	if _, err := Connect(t.Context(), config, Options{}); err == nil {
		t.Error("Connect accepted a configuration with a missing certificate file")
	}
}

func TestClientsOfAnIdentity(t *testing.T) {
	const user = "system:serviceaccount:shop:deployer"
	for _, c := range []struct {
		name  string
		scope WatchScope
		id    Identity
		// dynamic, watches and protects are the users of writes, of watches, and of the reads that protect foreign objects.
		dynamic, watches, protects string
	}{
		{"the identity of the connection", WatchCluster, Identity{}, "", "", ""},
		{"the identity of the connection with watches by identity", WatchIdentity, Identity{}, "", "", ""},
		{"another identity", WatchCluster, Identity{User: user}, user, "", ""},
		{"another identity with watches in namespaces", WatchNamespaces, Identity{User: user}, user, "", ""},
		{"another identity with watches by identity", WatchIdentity, Identity{User: user}, user, user, user},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := apiservertest.New(t)
			client, err := connectTo(t, server, Options{Scope: c.scope}).As(c.id)
			if err != nil {
				t.Fatal(err)
			}
			asked := func(what, want string, do func() error) {
				t.Helper()
				server.Requests()
				if err := do(); err != nil {
					t.Fatal(err)
				}
				requests := server.Requests()
				if len(requests) != 1 || requests[0].User != want {
					t.Errorf("%s: requests %+v, want user %q", what, requests, want)
				}
			}
			list := metav1.ListOptions{}
			asked("dynamic", c.dynamic, func() error {
				_, err := client.Dynamic.Resource(secrets).List(t.Context(), list)
				return err
			})
			asked("metadata", "", func() error {
				_, err := client.Metadata.Resource(secrets).List(t.Context(), list)
				return err
			})
			asked("watches", c.watches, func() error {
				_, err := client.Reader.Metadata.Resource(secrets).List(t.Context(), list)
				return err
			})
			asked("whole watches", c.watches, func() error {
				_, err := client.Reader.Dynamic.Resource(secrets).List(t.Context(), list)
				return err
			})
			asked("protecting", c.protects, func() error {
				_, err := client.Protecting.Instances(t.Context(), secretKind, execute.Definition{})
				return err
			})
			if client.User != c.id.User || client.RemoteTarget || (client.Reader.Name == "") != (c.watches == "") {
				t.Errorf("the client has the user %q, and its watches the reader %q", client.User, client.Reader.Name)
			}
		})
	}
}

var secretKind = corev1.SchemeGroupVersion.WithKind("Secret").GroupKind()

func TestClientsShareTheConnection(t *testing.T) {
	connection := connectTo(t, apiservertest.New(t), Options{})
	first, second := connection.Own(), connection.Own()
	first.RemoteTarget = true
	if second.RemoteTarget || connection.Own().RemoteTarget || first.Connection != second.Connection {
		t.Error("a change of a client changed another client of the same connection")
	}
	if got := second.Home(component); got != "shop" {
		t.Errorf("Home of a component in its own cluster is %q", got)
	}
	if got := first.Home(component); got != "" {
		t.Errorf("Home of a component in another cluster is %q", got)
	}
}

func TestReleaseEndsTheWatchesOfAnOwner(t *testing.T) {
	connection := connectTo(t, apiservertest.New(t), Options{})
	namespaces := observe.Reference{Resource: corev1.SchemeGroupVersion.WithResource("namespaces"), Name: "shop"}
	for _, references := range []*observe.References{connection.Namespaces, connection.Lookups} {
		references.Watch(component.ID(), observe.Reader{}, []observe.Reference{namespaces}, func() {})
	}
	synced := func(references *observe.References) func() bool {
		return func() bool {
			_, known, _ := references.Version(observe.Reader{}, namespaces)
			return known
		}
	}
	eventually(t, synced(connection.Namespaces))
	eventually(t, synced(connection.Lookups))
	connection.Release(component)
	if synced(connection.Namespaces)() || synced(connection.Lookups)() {
		t.Error("a watch of the component remains after Release")
	}
	connection.closeIdle()
}
