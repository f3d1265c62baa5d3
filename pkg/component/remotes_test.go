package component

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// opened is a pool whose engines reach nothing, and the contexts that bound them, by kubeconfig.
func opened(t *testing.T) (*remotes, map[string]context.Context) {
	t.Helper()
	contexts := map[string]context.Context{}
	return newRemotes(t.Context(), func(ctx context.Context, kubeconfig []byte) (*Engine, error) {
		if string(kubeconfig) == "bad" {
			return nil, errors.New("it is bad")
		}
		contexts[string(kubeconfig)] = ctx
		c := &connection{client: &http.Client{}}
		c.observer, c.namespaces = observe.New(ctx, observe.Options{}), observe.NewReferences(ctx, nil, "shops.example.com")
		c.lookups = c.namespaces
		var err error
		if c.discovery, err = discovery.New(ctx, discovery.Options{Config: &rest.Config{}, Client: c.client}); err != nil {
			return nil, err
		}
		return &Engine{connection: c}, nil
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
		// open are the kubeconfigs whose engines are open at the end.
		open map[string]bool
	}{
		{"one kubeconfig has one engine", []step{{"a", "x", "1"}, {"b", "x", "1"}}, map[string]bool{"x": true}},
		{"it stays while somebody uses it", []step{{"a", "x", "1"}, {"b", "x", "1"}, {"a", none, none}}, map[string]bool{"x": true}},
		{"it is closed when the last one leaves", []step{{"a", "x", "1"}, {"b", "x", "1"}, {"a", none, none}, {"b", none, none}}, map[string]bool{"x": false}},
		{"it is counted once for each component", []step{{"a", "x", "1"}, {"a", "x", "2"}, {"a", none, none}}, map[string]bool{"x": false}},
		{"whoever takes another one leaves the first", []step{{"a", "x", "1"}, {"a", "y", "2"}}, map[string]bool{"x": false, "y": true}},
		{"whoever gets a bad one leaves the first", []step{{"a", "x", "1"}, {"a", "bad", "2"}}, map[string]bool{"x": false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool, contexts := opened(t)
			for _, s := range c.steps {
				name, owner := types.NamespacedName{Name: s.component}, manifests.Owner{Name: s.component}
				if s.kubeconfig == none {
					pool.release(name, owner)
					continue
				}
				if _, err := pool.enter(name, owner, origin{secret: "s", version: s.version}, []byte(s.kubeconfig)); (err != nil) != (s.kubeconfig == "bad") {
					t.Fatal(err)
				}
			}
			for kubeconfig, want := range c.open {
				if got := contexts[kubeconfig].Err() == nil; got != want {
					t.Errorf("%s is open: %v, want %v", kubeconfig, got, want)
				}
			}
		})
	}
}

// inTime fails a test where something waits that must not.
func inTime(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal(what + " waits")
	}
}

func TestForgettingHoldsUpNoOtherComponent(t *testing.T) {
	r := NewReconciler[Component]("shops.example.com", nil, Options{})
	pool, _ := opened(t)
	engine, err := pool.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.local, r.remotes, r.inputs = engine, pool, observe.NewReferences(t.Context(), nil, r.name)
	gone := types.NamespacedName{Name: "gone"}
	r.prepared.enter(gone, "u1")

	pool.mu.Lock()
	forgotten := make(chan struct{})
	go func() {
		defer close(forgotten)
		r.forget(gone)
	}()
	inTime(t, "another component", func() {
		for known := true; known; {
			_, known = r.prepared.lookup(gone)
		}
	})
	pool.mu.Unlock()
	<-forgotten
}
