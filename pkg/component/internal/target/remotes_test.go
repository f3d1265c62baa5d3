package target

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// newTestRemotes returns Remotes whose connections send no requests, and the contexts of the connections, by
// kubeconfig.
func newTestRemotes(t *testing.T) (*Remotes, map[string]context.Context) {
	t.Helper()
	contexts := map[string]context.Context{}
	return NewRemotes(t.Context(), func(ctx context.Context, kubeconfig []byte) (*Connection, error) {
		if string(kubeconfig) == "bad" {
			return nil, errors.New("it is bad")
		}
		contexts[string(kubeconfig)] = ctx
		c := &Connection{http: &http.Client{}}
		c.Observer, c.Namespaces = observe.New(ctx, observe.Options{}), observe.NewReferences(ctx, nil, reconciler)
		c.Lookups = c.Namespaces
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
			"another kubeconfig releases the former connection",
			[]step{{"a", "x", "1"}, {"a", "y", "2"}},
			map[string]bool{"x": false, "y": true},
		},
		{
			"an unusable kubeconfig releases the former connection",
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

func TestClusterIsIdentifiedOnceAndRestsAfterAFailure(t *testing.T) {
	server := apiservertest.New(t)
	connection, err := Connect(t.Context(), server.Config(), Options{Reconciler: reconciler})
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	r := &remote{connection: connection}
	fail := true
	server.Refuse(func(apiservertest.Request) error {
		if fail {
			return errors.New("it fails")
		}
		return nil
	})
	ask := func(wantError bool, requests int) {
		t.Helper()
		server.Requests()
		id, err := r.identify(t.Context(), clock)
		if (err != nil) != wantError || (id == "") != wantError {
			t.Errorf("got %q, %v", id, err)
		}
		if got := server.Requests(); len(got) != requests {
			t.Errorf("the server got the requests %v, want %d", got, requests)
		}
	}
	ask(true, 1)
	fail = false
	ask(true, 0)
	clock.SetTime(clock.Now().Add(identifyPause))
	ask(false, 1)
	ask(false, 0)
}
