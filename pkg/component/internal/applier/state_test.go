package applier

import (
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestRepairsAreRememberedByOwnerAndNonce(t *testing.T) {
	var m state
	key := manifests.Key{Kind: "ConfigMap", Name: "a"}
	repairs := map[manifests.Key]plan.Repairs{key: {Digest: "d"}}
	m.keepRepairs("first", "x", repairs)
	delete(repairs, key)
	if got := m.repairsOf("first", "x"); len(got) != 1 {
		t.Errorf("got the repairs %v, want the repairs of one object, which were stored before", got)
	}
	delete(m.repairsOf("first", "x"), key)
	if got := m.repairsOf("first", "x"); len(got) != 1 {
		t.Errorf("a caller changed the stored repairs of drift: %v", got)
	}
	if got := m.repairsOf("first", "y"); len(got) != 0 {
		t.Errorf("got the repairs of drift %v although the repair nonce has changed", got)
	}
	if got := m.repairsOf("second", "x"); len(got) != 0 {
		t.Errorf("got the repairs %v, which belong to another owner", got)
	}
	if m.forget("first"); len(m.owners) != 0 {
		t.Errorf("the state still has %v after Forget", m.owners)
	}
	m.keepRepairs("first", "x", nil)
	if len(m.owners) != 0 {
		t.Errorf("the state still has %v, an owner without repairs", m.owners)
	}
}

func TestGuardIsRememberedBesideRepairs(t *testing.T) {
	var m state
	first, second := ownerNamed("first"), ownerNamed("second")
	unknown := plan.GuardName(reconciler, first.ID())
	if got := m.guardOf(first); got.Name != unknown || got.Owner != first.String() || got.Definitions != nil {
		t.Errorf("the guard of an owner without a state is %+v, want an unknown guard", got)
	}
	m.keepGuard(first.ID(), plan.Guard{Name: "g", Definitions: []string{"d"}, SetUp: start}, nil)
	m.keepRepairs(first.ID(), "x", map[manifests.Key]plan.Repairs{{Name: "a"}: {}})
	m.keepRepairs(first.ID(), "x", nil)
	if got := m.guardOf(first); got.Name != "g" || len(got.Definitions) != 1 {
		t.Errorf("the state of the admission guard was removed together with the state of the repairs of drift: %+v", got)
	}
	if got := m.guardOf(second); got.Definitions != nil {
		t.Errorf("got the guard %+v, which belongs to another owner", got)
	}
	m.keepGuard(first.ID(), plan.Guard{Name: "g", Unavailable: true}, nil)
	if got := m.guardOf(first); got.Unavailable || got.Name != unknown {
		t.Errorf("the applier does not set up an admission guard again after a failure: %+v", got)
	}
	m.keepGuard(first.ID(), plan.Guard{Name: "g"}, nil)
	if len(m.owners) != 0 {
		t.Errorf("the state still has %v after the guard was removed", m.owners)
	}
}

func TestUnusedGuards(t *testing.T) {
	var m state
	m.setChanged(func() {})
	for _, name := range []string{"old", "young", "busy", "forgotten"} {
		owner := ownerNamed(name)
		used := start
		if name == "young" {
			used = start.Add(time.Second)
		}
		m.keepGuard(owner.ID(), plan.Guard{Name: name, SetUp: start, Probed: used}, nil)
	}
	m.begin(ownerNamed("busy").ID())
	m.forget(ownerNamed("forgotten").ID())
	take := func(before time.Time) (names []string, next time.Time) {
		unused, next := m.takeUnused(before)
		for _, g := range unused {
			names = append(names, g.name)
		}
		return names, next
	}
	if got, next := take(start); !slices.Equal(got, []string{"forgotten", "old"}) || !next.Equal(start) {
		t.Errorf("the unused guards are %v, and the next was used at %s", got, next)
	}
	m.end(ownerNamed("busy").ID())
	if got, next := take(start.Add(time.Second)); !slices.Equal(got, []string{"busy", "young"}) || !next.IsZero() {
		t.Errorf("later the unused guards are %v, and the next was used at %s", got, next)
	}
	if len(m.owners) != 0 {
		t.Errorf("the state still has %v", m.owners)
	}
}
