package target

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// newTestRemotes returns Remotes whose connections send no requests, and the contexts of the connections, by
// kubeconfig.
func newTestRemotes(t *testing.T) (*Remotes, map[string]context.Context) {
	t.Helper()
	contexts := map[string]context.Context{}
	return NewRemotes(t.Context(), clock.RealClock{}, func(ctx context.Context, kubeconfig []byte) (*Connection, error) {
		if string(kubeconfig) == "bad" {
			return nil, errors.New("it is bad")
		}
		contexts[string(kubeconfig)] = ctx
		c := &Connection{http: &http.Client{}}
		c.Observer, c.Namespaces = observe.New(ctx, observe.Options{}), observe.NewReferences(ctx, nil, reconciler)
		c.Lookups, c.Awaited = c.Namespaces, c.Namespaces
		var err error
		c.Discovery, err = discovery.New(ctx, discovery.Options{Config: &rest.Config{}, Client: c.http})
		return c, err
	}), contexts
}

func TestRemotesAreSharedAndClosed(t *testing.T) {
	type step struct {
		component, kubeconfig, version string
	}
	const none = ""
	for _, c := range []struct {
		name  string
		steps []step
		// open are the kubeconfigs, and whether their connections are open at the end.
		open map[string]bool
	}{
		{"equal kubeconfigs share a connection", []step{{"a", "x", "1"}, {"b", "x", "1"}}, map[string]bool{"x": true}},
		{
			"the connection remains open while a component uses it",
			[]step{{"a", "x", "1"}, {"b", "x", "1"}, {"a", none, none}},
			map[string]bool{"x": true},
		},
		{
			"the last release closes the connection",
			[]step{{"a", "x", "1"}, {"b", "x", "1"}, {"a", none, none}, {"b", none, none}},
			map[string]bool{"x": false},
		},
		{
			"a component that acquires the connection several times is counted once",
			[]step{{"a", "x", "1"}, {"a", "x", "2"}, {"a", none, none}},
			map[string]bool{"x": false},
		},
		{
			"another kubeconfig releases the previous connection",
			[]step{{"a", "x", "1"}, {"a", "y", "2"}},
			map[string]bool{"x": false, "y": true},
		},
		{
			"an unusable kubeconfig releases the previous connection",
			[]step{{"a", "x", "1"}, {"a", "bad", "2"}},
			map[string]bool{"x": false},
		},
		{"a release without a connection does nothing", []step{{"a", none, none}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			remotes, contexts := newTestRemotes(t)
			for _, s := range c.steps {
				name, owner := types.NamespacedName{Name: s.component}, manifests.Owner{Name: s.component}
				if s.kubeconfig == none {
					remotes.release(name, owner)
					continue
				}
				_, err := remotes.acquire(name, owner, origin{secret: "s", version: s.version}, []byte(s.kubeconfig))
				if (err != nil) != (s.kubeconfig == "bad") {
					t.Fatal(err)
				}
			}
			for kubeconfig, want := range c.open {
				if got := contexts[kubeconfig].Err() == nil; got != want {
					t.Errorf("the connection of %s is open: %v, want %v", kubeconfig, got, want)
				}
			}
		})
	}
}

func TestRemoteIsUsedOnlyFromTheSameVersionOfTheSameKey(t *testing.T) {
	remotes, _ := newTestRemotes(t)
	name, from := types.NamespacedName{Name: "a"}, origin{"s", "value", "1"}
	acquired, err := remotes.acquire(name, manifests.Owner{}, from, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if used, ok := remotes.used(name, from); !ok || used != acquired {
		t.Errorf("got %v, %t", used, ok)
	}
	for _, other := range []origin{{"other", "value", "1"}, {"s", "other", "1"}, {"s", "value", "2"}} {
		if _, ok := remotes.used(name, other); ok {
			t.Errorf("the connection is used for another Secret, key or version: %v", other)
		}
	}
	if _, ok := remotes.used(types.NamespacedName{Name: "b"}, from); ok {
		t.Error("the connection is used by another component")
	}
}

// identified waits until the cluster of a remote has answered, and returns the result.
func identified(t *testing.T, remotes *Remotes, name types.NamespacedName, from *remote) (id string, err error) {
	t.Helper()
	woken := make(chan struct{}, 1)
	id, err = remotes.identify(name, from, func() { woken <- struct{}{} })
	if !errors.Is(err, passerror.ErrObserving) {
		return id, err
	}
	select {
	case <-woken:
	case <-t.Context().Done():
		t.Fatal("the component was not woken")
	}
	return remotes.identify(name, from, func() {})
}

func TestClusterIsIdentifiedOnceAndRestsAfterAFailure(t *testing.T) {
	server := apiservertest.New(t)
	fake := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	remotes := NewRemotes(t.Context(), fake, func(ctx context.Context, _ []byte) (*Connection, error) {
		return Connect(ctx, server.Config(), Options{Reconciler: reconciler})
	})
	name := types.NamespacedName{Namespace: "shop", Name: "web"}
	from, err := remotes.acquire(name, manifests.Owner{}, origin{}, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	var fail atomic.Bool
	fail.Store(true)
	server.Refuse(func(apiservertest.Request) error {
		if fail.Load() {
			return errors.New("it fails")
		}
		return nil
	})
	server.Requests()
	var failed *unknown
	if _, err := identified(t, remotes, name, from); !errors.As(err, &failed) || failed.after != identifyPause {
		t.Errorf("the first request returned %v", err)
	}
	fail.Store(false)
	if _, err := remotes.identify(name, from, func() {}); !errors.As(err, &failed) {
		t.Errorf("got %v before the pause after the failure is over", err)
	}
	if got := server.Requests(); len(got) != 1 {
		t.Errorf("the server got the requests %v, want one", got)
	}
	fake.SetTime(fake.Now().Add(identifyPause))
	woken := make(chan struct{}, 1)
	if _, err := remotes.identify(name, from, func() { woken <- struct{}{} }); !errors.As(err, &failed) ||
		failed.after != identifyTimeout {
		t.Errorf("got %v during the second request", err)
	}
	<-woken
	for range 2 {
		if id, err := remotes.identify(name, from, func() {}); err != nil || id == "" {
			t.Errorf("got %q, %v", id, err)
		}
	}
	if got := server.Requests(); len(got) != 1 {
		t.Errorf("the server got the requests %v, want one", got)
	}
}

// The clusters of one namespace do not respond. Few requests to them run at the same time, none of them blocks, and a
// cluster of another namespace is identified meanwhile.
func TestClustersThatDoNotRespondDelayTheirNamespaceOnly(t *testing.T) {
	good := apiservertest.New(t)
	var hanging atomic.Int32
	released := make(chan struct{})
	remotes := NewRemotes(t.Context(), clock.RealClock{}, func(ctx context.Context, content []byte) (*Connection, error) {
		wrap := func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if string(content) != "good" {
					hanging.Add(1)
					select {
					case <-released:
					case <-r.Context().Done():
					}
				}
				return next.RoundTrip(r)
			})
		}
		return Connect(ctx, good.Config(), Options{Reconciler: reconciler, Wrap: wrap})
	})
	woken := make(chan struct{}, 40)
	var stuck []*remote
	for i := range 40 {
		name := types.NamespacedName{Namespace: "hostile", Name: strconv.Itoa(i)}
		from, err := remotes.acquire(name, manifests.Owner{}, origin{}, []byte(name.Name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := remotes.identify(name, from, func() { woken <- struct{}{} }); !errors.Is(err, passerror.ErrObserving) {
			t.Fatalf("got %v", err)
		}
		stuck = append(stuck, from)
	}
	eventually(t, func() bool { return hanging.Load() == identifyingEach })
	other := types.NamespacedName{Namespace: "shop", Name: "web"}
	from, err := remotes.acquire(other, manifests.Owner{}, origin{}, []byte("good"))
	if err != nil {
		t.Fatal(err)
	}
	if id, err := identified(t, remotes, other, from); err != nil || id == "" {
		t.Errorf("got %q, %v", id, err)
	}
	if got := hanging.Load(); got != identifyingEach {
		t.Errorf("%d requests of one namespace run at the same time", got)
	}
	close(released)
	for range stuck {
		<-woken
	}
	for i, from := range stuck {
		name := types.NamespacedName{Namespace: "hostile", Name: strconv.Itoa(i)}
		if id, err := remotes.identify(name, from, func() {}); err != nil || id == "" {
			t.Errorf("cluster %d: got %q, %v", i, id, err)
		}
	}
	eventually(t, func() bool {
		remotes.requests.mu.Lock()
		defer remotes.requests.mu.Unlock()
		return remotes.requests.used == 0 && len(remotes.requests.turns) == 0
	})
}
