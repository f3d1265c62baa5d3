package target

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
)

// eventually waits until holds returns true.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the condition was not met in time")
		}
	}
}

// clusters contains the cluster of the components, a remote cluster, and a Resolver.
type clusters struct {
	local, remote *apiservertest.Server
	remoteURL     string
	resolver      *Resolver
	woken         atomic.Int32
	request       Request
	// remoteContext ends when the remote connection is closed.
	remoteContext context.Context
}

func newClusters(t *testing.T) *clusters {
	t.Helper()
	c := &clusters{
		local: apiservertest.New(t), remote: apiservertest.New(t),
		request: Request{
			Name: types.NamespacedName{Namespace: "shop", Name: "web"}, Owner: component,
			Declaration: Declaration{KubeConfig: &metav1alpha1.KubeConfigReference{Name: "remote"}},
		},
	}
	c.remoteURL = c.remote.ServeTLS(t)
	// A fake server makes UIDs from resource versions. The recreated namespace gets another UID than the namespace in the
	// local cluster.
	c.remote.Delete("v1", "Namespace", "", "kube-system")
	c.remote.Put("v1", "Namespace", "", "kube-system", nil)
	connection := connectTo(t, c.local, Options{})
	c.resolver = &Resolver{
		Local: connection, References: observe.NewReferences(t.Context(), connection.Own().Metadata, reconciler),
		Wake: func(types.NamespacedName) { c.woken.Add(1) },
		Remotes: NewRemotes(t.Context(), clock.RealClock{}, func(
			ctx context.Context, kubeconfig []byte,
		) (*Connection, error) {
			config, err := ParseKubeconfig(kubeconfig)
			if err != nil {
				return nil, err
			}
			c.remoteContext = ctx
			return Connect(ctx, config, Options{Reconciler: reconciler})
		}),
	}
	return c
}

// putKubeconfig stores the Secret with the kubeconfig.
func (c *clusters) putKubeconfig(key, content string) {
	c.local.Put("v1", "Secret", "shop", "remote", map[string]any{
		"data": map[string]any{key: base64.StdEncoding.EncodeToString([]byte(content))},
	})
}

func (c *clusters) kubeconfig() string {
	return kubeconfig(`"insecure-skip-tls-verify":true,"server":"`+c.remoteURL+`"`, "")
}

// acquire acquires the target once the watch on the Secret shows its newest version, and the other cluster has
// answered.
func (c *clusters) acquire(t *testing.T) (Target, error) {
	t.Helper()
	if c.request.KubeConfig == nil {
		return c.resolver.Acquire(t.Context(), c.request)
	}
	secret := observe.Reference{Resource: secrets, Namespace: "shop", Name: "remote"}
	c.resolver.References.Watch(component.ID(), observe.Reader{}, []observe.Reference{secret}, func() {})
	want := ""
	if stored := c.local.Object("v1", "Secret", "shop", "remote"); stored != nil {
		want = stored.GetResourceVersion()
	}
	eventually(t, func() bool {
		version, known, _ := c.resolver.References.Version(observe.Reader{}, secret)
		return known && version == want
	})
	return c.acquireIdentified(t)
}

// acquireIdentified acquires the target once the other cluster has answered. The result contains the Secret that was
// read.
func (c *clusters) acquireIdentified(t *testing.T) (found Target, err error) {
	t.Helper()
	eventually(t, func() bool {
		read := found.Kubeconfig
		found, err = c.resolver.Acquire(t.Context(), c.request)
		if found.Kubeconfig == nil {
			found.Kubeconfig = read
		}
		return !errors.Is(err, passerror.ErrObserving)
	})
	return found, err
}

func TestTargetInTheOwnCluster(t *testing.T) {
	c := newClusters(t)
	c.request.Declaration = Declaration{ServiceAccount: "deployer"}
	found, err := c.acquire(t)
	if err != nil {
		t.Fatal(err)
	}
	if found.Client != found.Local || found.Cluster != "" || found.Client.User != "system:serviceaccount:shop:deployer" {
		t.Errorf("the resolver returned the wrong target %+v", found)
	}
	if found.On(true) != found.Local || found.On(false) != found.Client {
		t.Error("On returned neither the client of the target nor the client of the component's own cluster")
	}
	c.request.Impersonate = Identity{User: "ann"}
	var failure *passerror.Error
	if _, err := c.acquire(t); !errors.As(err, &failure) || failure.Reason != metav1alpha1.ReasonInvalidSpec ||
		!failure.Terminal {
		t.Errorf("the resolver returned %v, want a terminal error", err)
	}
}

func TestTargetInAnotherCluster(t *testing.T) {
	c := newClusters(t)
	c.putKubeconfig(metav1alpha1.DefaultKubeConfigKey, c.kubeconfig())
	c.resolver.DefaultServiceAccount = "deployer"
	if _, err := c.resolver.Acquire(t.Context(), c.request); !errors.Is(err, passerror.ErrObserving) {
		t.Errorf("Acquire before the watch is in sync returned %v, want ErrObserving", err)
	}
	eventually(t, func() bool { return c.woken.Load() > 0 })
	found, err := c.acquireIdentified(t)
	if err != nil {
		t.Fatal(err)
	}
	remoteID := string(c.remote.Object("v1", "Namespace", "", "kube-system").GetUID())
	if found.Cluster != remoteID || !found.Client.RemoteTarget || found.Kubeconfig.GetName() != "remote" {
		t.Errorf("the resolver returned the wrong target %+v", found)
	}
	if found.Client.User != "" || found.Local.User != "system:serviceaccount:shop:deployer" || found.Local.RemoteTarget {
		t.Errorf("users: %q in the target, %q in the own cluster", found.Client.User, found.Local.User)
	}
	c.local.Requests()
	again, err := c.acquire(t)
	if err != nil || again.Client.Connection != found.Client.Connection || again.Kubeconfig != nil {
		t.Errorf("the connection is not shared, or the Secret was read again: %+v, %v", again, err)
	}
	if found.On(true) != found.Local || found.On(false) != found.Client {
		t.Error("On returned neither the client of the target nor the client of the component's own cluster")
	}

	first := c.remoteContext
	c.request.KubeConfig = nil
	if _, err := c.acquire(t); err != nil {
		t.Fatal(err)
	}
	if first.Err() == nil {
		t.Error("the connection to the previous target is still open")
	}
}

func TestTargetInAnotherClusterEndsTheWatchesInTheOwnCluster(t *testing.T) {
	c := newClusters(t)
	c.putKubeconfig(metav1alpha1.DefaultKubeConfigKey, c.kubeconfig())
	namespace := observe.Reference{Resource: secrets.GroupVersion().WithResource("namespaces"), Name: "shop"}
	local := c.resolver.Local.Namespaces
	local.Watch(component.ID(), observe.Reader{}, []observe.Reference{namespace}, func() {})
	known := func() bool {
		_, known, _ := local.Version(observe.Reader{}, namespace)
		return known
	}
	eventually(t, known)
	if _, err := c.acquire(t); err != nil {
		t.Fatal(err)
	}
	if known() {
		t.Error("the component still watches its own cluster")
	}
}

func TestTargetInAnotherClusterWaitsForItsTurn(t *testing.T) {
	c := newClusters(t)
	c.putKubeconfig(metav1alpha1.DefaultKubeConfigKey, c.kubeconfig())
	turned := make(chan types.NamespacedName, 1)
	c.resolver.Turns = NewTurns(1, 1, func(name types.NamespacedName) { turned <- name })
	other := types.NamespacedName{Namespace: "hostile", Name: "stuck"}
	if !c.resolver.Turns.Take(other) {
		t.Fatal("the first component got no slot")
	}
	waits := func() bool {
		c.resolver.Turns.mu.Lock()
		defer c.resolver.Turns.mu.Unlock()
		return len(c.resolver.Turns.waiting) == 1
	}
	eventually(t, func() bool {
		_, err := c.resolver.Acquire(t.Context(), c.request)
		if !errors.Is(err, passerror.ErrObserving) {
			t.Fatalf("Acquire without a slot returned %v", err)
		}
		return waits()
	})
	c.resolver.Turns.EndPass(c.request.Name)
	c.resolver.Turns.EndPass(other)
	if name := <-turned; name != c.request.Name {
		t.Errorf("the slot went to %s", name)
	}
	if _, err := c.acquire(t); err != nil {
		t.Error(err)
	}

	c.request.KubeConfig = nil
	if !c.resolver.Turns.Take(c.request.Name) || c.resolver.Turns.Take(other) {
		t.Fatal("the slot is not in use")
	}
	if _, err := c.acquire(t); err != nil {
		t.Errorf("a component without a kubeconfig waits for a slot: %v", err)
	}
}

func TestKubeconfigThatLeadsToTheOwnCluster(t *testing.T) {
	c := newClusters(t)
	c.request.Owner.Cluster = string(c.remote.Object("v1", "Namespace", "", "kube-system").GetUID())
	c.putKubeconfig("custom", c.kubeconfig())
	c.request.KubeConfig.Key = "custom"
	found, err := c.acquire(t)
	if err != nil || found.Cluster != "" || found.Client.RemoteTarget {
		t.Errorf("the resolver returned the target %+v and the error %v", found, err)
	}
}

func TestUnusableKubeconfigsCloseTheConnection(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*clusters)
		reason  string
		message string
		read    bool
	}{
		{
			"the Secret was deleted", func(c *clusters) { c.local.Delete("v1", "Secret", "shop", "remote") },
			metav1alpha1.ReasonReferenceNotFound, "Secret shop/remote with the kubeconfig does not exist; create it", false,
		},
		{
			"the key is missing", func(c *clusters) { c.request.KubeConfig.Key = "other" },
			metav1alpha1.ReasonReferenceNotFound,
			`Secret shop/remote with the kubeconfig has no key "other"; add it, or name another key`, true,
		},
		{
			"the kubeconfig names a file", func(c *clusters) {
				c.putKubeconfig(metav1alpha1.DefaultKubeConfigKey, kubeconfig(`"server":"https://a"`, `"tokenFile":"/etc/token"`))
			},
			metav1alpha1.ReasonInvalidSpec,
			"Secret shop/remote with the kubeconfig cannot be used: tokenFile names a file", true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cs := newClusters(t)
			cs.putKubeconfig(metav1alpha1.DefaultKubeConfigKey, cs.kubeconfig())
			if _, err := cs.acquire(t); err != nil {
				t.Fatal(err)
			}
			opened := cs.remoteContext
			c.change(cs)
			found, err := cs.acquire(t)
			var failure *passerror.Error
			if !errors.As(err, &failure) || failure.Reason != c.reason || !failure.Terminal ||
				!strings.HasPrefix(failure.Message, c.message) {
				t.Errorf("the resolver returned the wrong error %v", err)
			}
			if found.Local == nil || (found.Kubeconfig != nil) != c.read {
				t.Errorf("the resolver returned the wrong target %+v", found)
			}
			if opened.Err() == nil {
				t.Error("the connection with the previous kubeconfig is still open")
			}
		})
	}
}

func TestKubeconfigThatCannotBeRead(t *testing.T) {
	for _, c := range []struct {
		name     string
		err      error
		reason   string
		terminal bool
	}{
		{"forbidden", apierrors.NewForbidden(secrets.GroupResource(), "remote", nil), metav1alpha1.ReasonForbidden, true},
		{"failed", apierrors.NewInternalError(errors.New("broken")), metav1alpha1.ReasonRetrying, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cs := newClusters(t)
			cs.putKubeconfig(metav1alpha1.DefaultKubeConfigKey, cs.kubeconfig())
			cs.local.Refuse(func(r apiservertest.Request) error {
				if strings.HasSuffix(r.Path, "/secrets/remote") {
					return c.err
				}
				return nil
			})
			_, err := cs.acquire(t)
			var failure *passerror.Error
			if !errors.As(err, &failure) || failure.Reason != c.reason || failure.Terminal != c.terminal {
				t.Errorf("got %#v", err)
			}
		})
	}
}

func TestKubeconfigThatCannotBeWatched(t *testing.T) {
	c := newClusters(t)
	c.local.Refuse(func(r apiservertest.Request) error {
		return apierrors.NewForbidden(secrets.GroupResource(), "", errors.New("no right to "+r.Path))
	})
	var failure *passerror.Error
	eventually(t, func() bool {
		_, err := c.resolver.Acquire(t.Context(), c.request)
		return errors.As(err, &failure)
	})
	if failure.Reason != metav1alpha1.ReasonForbidden || !strings.Contains(failure.Message, "Secret shop/remote") {
		t.Errorf("got %#v", failure)
	}
}

func TestClusterThatRefusesToIdentifyItself(t *testing.T) {
	namespaces := secrets.GroupVersion().WithResource("namespaces").GroupResource()
	for _, c := range []struct {
		name     string
		err      error
		reason   string
		terminal bool
		message  string
	}{
		{
			"forbidden", apierrors.NewForbidden(namespaces, "kube-system", nil), metav1alpha1.ReasonForbidden, true,
			"renew the credentials, or grant the right",
		},
		{"unauthorized", apierrors.NewUnauthorized("no"), metav1alpha1.ReasonForbidden, true, "refuses its user"},
		{
			"failed", apierrors.NewInternalError(errors.New("broken")), metav1alpha1.ReasonRetrying, false,
			"the cluster of the kubeconfig in Secret shop/remote cannot be reached",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cs := newClusters(t)
			cs.putKubeconfig(metav1alpha1.DefaultKubeConfigKey, cs.kubeconfig())
			cs.remote.Refuse(func(apiservertest.Request) error { return c.err })
			check := func(err error) {
				t.Helper()
				var failure *passerror.Error
				if !errors.As(err, &failure) || failure.Reason != c.reason || failure.Terminal != c.terminal ||
					!strings.Contains(failure.Message, c.message) {
					t.Errorf("got %#v", err)
				}
			}
			found, err := cs.acquire(t)
			if check(err); found.Local == nil || found.Client != nil {
				t.Errorf("got %+v", found)
			}
			_, err = Identify(t.Context(), connectTo(t, cs.remote, Options{}), "shop", "remote")
			check(err)
		})
	}
}

func TestIdentifyReturnsTheClusterID(t *testing.T) {
	c := newClusters(t)
	got, err := Identify(t.Context(), c.resolver.Local, "shop", "remote")
	if want := string(c.local.Object("v1", "Namespace", "", "kube-system").GetUID()); err != nil || got != want {
		t.Errorf("the cluster id is %q, with the error %v, want %q", got, err, want)
	}
}

func TestCheckCluster(t *testing.T) {
	for _, c := range []struct {
		name       string
		status     metav1alpha1.Status
		target     string
		dependents int
		want       string
	}{
		{"nothing was applied yet", metav1alpha1.Status{TargetCluster: "a"}, "b", 1, ""},
		{"there are no dependents", metav1alpha1.Status{Revision: 1, TargetCluster: "a"}, "b", 0, ""},
		{"the same cluster", metav1alpha1.Status{Revision: 1, TargetCluster: "a"}, "a", 2, ""},
		{"the own cluster", metav1alpha1.Status{Revision: 1}, "", 2, ""},
		{
			"from the own cluster to another",
			metav1alpha1.Status{Revision: 1},
			"b", 2,
			"the component has 2 dependents in the component's own cluster, but the target is now cluster b",
		},
		{
			"from another cluster to the own",
			metav1alpha1.Status{Revision: 1, TargetCluster: "a"},
			"", 1,
			"the component has 1 dependent in cluster a, but the target is now the component's own cluster",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Target{Cluster: c.target}.CheckCluster(&c.status, c.dependents)
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("the resolver returned the wrong error %v", err)
			}
		})
	}
}
