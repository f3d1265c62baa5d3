package applier

import (
	"testing"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestRepairsAreRememberedByOwnerAndNonce(t *testing.T) {
	var m memory
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
		t.Errorf("the memory still has %v after Forget", m.owners)
	}
	m.keepRepairs("first", "x", nil)
	if len(m.owners) != 0 {
		t.Errorf("the memory still has %v, an owner without repairs", m.owners)
	}
}

func TestGuardIsRememberedBesideRepairs(t *testing.T) {
	var m memory
	unknown := plan.Guard{Name: "guard-first." + reconciler}
	if got := m.guardOf("first", reconciler); got.Name != unknown.Name || got.Definitions != nil {
		t.Errorf("the guard of an owner without a state is %+v, want an unknown guard", got)
	}
	m.keepGuard("first", plan.Guard{Name: "g", Definitions: []string{"d"}})
	m.keepRepairs("first", "x", map[manifests.Key]plan.Repairs{{Name: "a"}: {}})
	m.keepRepairs("first", "x", nil)
	if got := m.guardOf("first", reconciler); got.Name != "g" || len(got.Definitions) != 1 {
		t.Errorf("the state of the admission guard was removed together with the state of the repairs of drift: %+v", got)
	}
	if got := m.guardOf("second", reconciler); got.Definitions != nil {
		t.Errorf("got the guard %+v, which belongs to another owner", got)
	}
	m.keepGuard("first", plan.Guard{Name: "g", Unavailable: true})
	if got := m.guardOf("first", reconciler); got.Unavailable || got.Name != unknown.Name {
		t.Errorf("the applier does not set up an admission guard again after a failure: %+v", got)
	}
	if m.forget("first"); len(m.owners) != 0 {
		t.Errorf("the memory still has %v after Forget", m.owners)
	}
}
