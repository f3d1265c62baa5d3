package component

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
)

func TestNothingIsKnownOfAComponentThatIsGone(t *testing.T) {
	name, other := types.NamespacedName{Namespace: "shop", Name: "app"}, types.NamespacedName{Namespace: "shop", Name: "other"}
	var m memory
	for _, n := range []types.NamespacedName{name, other} {
		m.suspects.change(n, func(s suspects) (suspects, bool) { return suspects{inventory: plan.Inventory{}}, s.inventory == nil })
		m.secrets.of(n).SetID(records.Rendering, "one")
	}
	m.forget(name)
	if _, known := m.suspects.lookup(name); known || m.secrets.of(name).ID(records.Rendering) != "" {
		t.Error("something is left")
	}
	if _, known := m.suspects.lookup(other); !known || m.secrets.of(other).ID(records.Rendering) != "one" {
		t.Error("another one is forgotten, too")
	}
	m.suspects.change(other, func(s suspects) (suspects, bool) { return s, false })
	if _, known := m.suspects.lookup(other); known {
		t.Error("a note is kept that nobody wants to keep")
	}
}
