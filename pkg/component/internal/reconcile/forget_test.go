package reconcile

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// knownOwners implements Owners. knownOwners returns the same owner for every component.
type knownOwners struct{ owner manifests.Owner }

func (o knownOwners) Of(context.Context, components.Object) (manifests.Owner, error) {
	return o.owner, nil
}
func (o knownOwners) VerifyCluster(context.Context, types.NamespacedName) error { return nil }
func (o knownOwners) Known(types.NamespacedName) manifests.Owner                { return o.owner }

// withinLimit fails the test if the function do does not return within 20 seconds.
func withinLimit(t *testing.T, what string, do func()) {
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

// A forgetter takes a lock that another goroutine may hold for a long time, for example while it connects to a cluster.
func TestForgettingAComponentDoesNotDelayOtherComponents(t *testing.T) {
	deleted, other := types.NamespacedName{Name: "deleted"}, types.NamespacedName{Name: "other"}
	var serving sync.Mutex
	var stopped, released []string
	r := Runner{
		Pass:   Pass{Ports: Ports{Owners: knownOwners{manifests.Owner{Name: "deleted"}}}},
		States: &States{}, Forgetters: &Forgetters{},
	}
	r.Forgetters.OfComponent(r.States.Forget)
	r.Forgetters.OfOwner(func(owner manifests.Owner) {
		serving.Lock()
		defer serving.Unlock()
		stopped = append(stopped, owner.Name)
	})
	r.Forgetters.OfComponent(func(name types.NamespacedName) { released = append(released, name.Name) })
	r.States.Of(deleted).prepared = "u1"
	kept := r.States.Of(other)

	serving.Lock()
	forgotten := make(chan struct{})
	go func() {
		defer close(forgotten)
		r.forget(deleted)
	}()
	withinLimit(t, "another component", func() {
		for r.States.Known(deleted) != nil {
			time.Sleep(time.Millisecond)
		}
	})
	withinLimit(t, "the state of another component", func() {
		if r.States.Of(other) != kept {
			t.Error("the state of another component was dropped")
		}
	})
	withinLimit(t, "a cache that is built meanwhile", func() { r.Forgetters.OfOwner(func(manifests.Owner) {}) })
	serving.Unlock()
	<-forgotten
	if len(stopped) != 1 || stopped[0] != "deleted" || len(released) != 1 || released[0] != "deleted" {
		t.Errorf("the runner stopped serving %v and released %v, want both for deleted", stopped, released)
	}
}

func TestAnotherOwnerIDForgetsOnlyWhatIsKeptForTheFormerOne(t *testing.T) {
	var f Forgetters
	var forgotten []string
	f.OfComponent(func(name types.NamespacedName) { forgotten = append(forgotten, "component "+name.Name) })
	f.OfOwner(func(owner manifests.Owner) { forgotten = append(forgotten, "owner "+owner.Name) })
	f.ForgetOwner(manifests.Owner{Name: "web"})
	if want := []string{"owner web"}; !slices.Equal(forgotten, want) {
		t.Errorf("a changed owner id forgets %q, want %q", forgotten, want)
	}
}
