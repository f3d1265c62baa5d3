package reconcile

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
)

func TestForgetDropsAllThatIsRememberedOfOneComponent(t *testing.T) {
	other := types.NamespacedName{Namespace: "shop", Name: "other"}
	var m States
	if m.Known(web) != nil || m.Objects().Known(web) != nil || m.Inventories().Known(web) != nil {
		t.Error("a component has a state before its first pass")
	}
	created := outcome.Outcome{Created: plan.NewInventory([]metav1alpha1.InventoryEntry{settings})}
	for _, n := range []types.NamespacedName{web, other} {
		m.Of(n).addCreated(nil, created)
		m.Inventories().Of(n).Records.SetID(records.Rendering, "one")
	}
	if m.Objects().Of(web) != m.Objects().Known(web) || m.Inventories().Of(web) != m.Inventories().Known(web) {
		t.Error("two calls for the same component return different states")
	}
	m.Forget(web)
	if m.Known(web) != nil || len(m.Of(web).unconfirmed.entries) != 0 ||
		m.Of(web).Inventory.Records.ID(records.Rendering) != "" {
		t.Error("the state of the component still exists")
	}
	if len(m.Of(other).unconfirmed.entries) != 1 || m.Of(other).Inventory.Records.ID(records.Rendering) != "one" {
		t.Error("the state of another component was dropped")
	}
	m.Of(other).confirm()
	if len(m.Known(other).unconfirmed.entries) != 0 {
		t.Error("the state still has confirmed dependents as unconfirmed")
	}
}

func TestCreatedDependentsOfSeveralPassesAddUp(t *testing.T) {
	var m State
	second := settings
	second.Name = "second"
	m.addCreated(nil, outcome.Outcome{Created: plan.NewInventory([]metav1alpha1.InventoryEntry{settings})})
	first := m.unconfirmed.entries
	m.addCreated(nil, outcome.Outcome{Created: plan.NewInventory([]metav1alpha1.InventoryEntry{second})})
	m.addCreated(nil, outcome.Outcome{})
	if len(m.unconfirmed.entries) != 2 || len(first) != 1 {
		t.Errorf("the state has the unconfirmed dependents %v, and had %v before", m.unconfirmed.entries, first)
	}
}

func TestTheValuesOfARevisionAreKnownUntilTheNextOneIsWritten(t *testing.T) {
	inputs := func(digest string, replicas int64) input.Inputs {
		return input.Inputs{
			Declaration: input.Declaration{Parameters: map[string]any{"replicas": replicas}}, Digest: digest,
		}
	}
	first, second := &metav1alpha1.Status{InputDigest: "one"}, &metav1alpha1.Status{InputDigest: "two"}
	var m State
	if got := m.changesSince(first, inputs("two", 2)); !slices.Equal(got, []string{changesUnknown}) {
		t.Errorf("got the changes %q after a restart, want the reason why they are not known", got)
	}
	m.remember(first, inputs("one", 1))
	want := []string{"replicas: 1 → 2"}
	for attempt := range 2 {
		if got := m.changesSince(first, inputs("two", 2)); !slices.Equal(got, want) {
			t.Errorf("attempt %d: got the changes %q", attempt, got)
		}
		m.remember(first, inputs("two", 2))
	}
	m.remember(second, inputs("two", 2))
	if m.previousValues.values != nil {
		t.Error("the state keeps the values of the previous revision, although the status names the new revision")
	}
	if got := m.changesSince(second, inputs("three", 1)); !slices.Equal(got, []string{"replicas: 2 → 1"}) {
		t.Errorf("the changed values are %q", got)
	}
}
