package applier

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestFold(t *testing.T) {
	key := manifests.Key{Kind: "ConfigMap", Name: "a"}
	create := plan.Action{Verb: plan.VerbCreate, Key: key, Wave: 2, Reason: plan.ReasonNew}
	results := map[manifests.Key]plan.Result{}
	observed := &plan.Observed{UID: "u1"}
	for _, c := range []struct {
		name     string
		action   plan.Action
		result   plan.Result
		changes  int
		attempts int
		observed bool
	}{
		{"a conflict is not counted as a change", create, plan.Result{Verb: plan.VerbRead, Observed: observed}, 0, 1, true},
		{
			"a failure is not counted as a change",
			create,
			plan.Result{Verb: plan.VerbCreate, Failure: &plan.Failure{}},
			0, 2, false,
		},
		{"a write is counted as a change", create, plan.Result{Verb: plan.VerbCreate, Observed: observed}, 1, 3, true},
		{
			"a read is not counted as a change",
			plan.Action{Verb: plan.VerbRead, Key: key},
			plan.Result{Verb: plan.VerbRead, Observed: observed},
			0, 4, true,
		},
		{
			"after a response without an object, the known object is kept",
			create,
			plan.Result{Verb: plan.VerbCreate},
			1, 5, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			changes := Fold(results, c.action, c.result, nil)
			got := results[key]
			if len(changes) != c.changes || got.Attempts != c.attempts || (got.Observed != nil) != c.observed {
				t.Errorf("the action has the changes %v and the result %+v, want others", changes, got)
			}
			if c.changes == 1 && changes[0] != (result.Change{Verb: "Create", Key: key, Wave: 2, Reason: "it is new"}) {
				t.Errorf("the create has the wrong change %+v", changes[0])
			}
		})
	}
}

// ChangeOf names every adoption Adopt, for all verbs of the action.
func TestChangeOfNamesAdoptions(t *testing.T) {
	for _, c := range []struct {
		action plan.Action
		want   string
	}{
		{plan.Action{Verb: plan.VerbApply, Reason: plan.ReasonAdopted}, "Adopt"},
		{plan.Action{Verb: plan.VerbReplace, Reason: plan.ReasonTakenOver}, "Adopt"},
		{plan.Action{Verb: plan.VerbReplace, Reason: plan.ReasonDrifted}, "Replace"},
		{plan.Action{Verb: plan.VerbOrphan, Reason: plan.ReasonOrphaned}, "Orphan"},
		{plan.Action{Verb: plan.VerbCreateNamespace, Reason: plan.ReasonNamespace}, "Create"},
	} {
		if got := outcome.ChangeOf(c.action).Verb; got != c.want {
			t.Errorf("the verb %s with the reason %s is named %s, want %s", c.action.Verb, c.action.Reason, got, c.want)
		}
	}
}

func TestOutcomeOf(t *testing.T) {
	key := func(name string) manifests.Key {
		return manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: name}
	}
	entry := func(name string) metav1alpha1.InventoryEntry {
		return metav1alpha1.InventoryEntry{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name}
	}
	widgets, err := manifests.ParseManagedType("Widget.example.com")
	if err != nil {
		t.Fatal(err)
	}
	due := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	changes := []result.Change{{Verb: "Create", Key: key("a")}}
	got := OutcomeOf(plan.Plan{
		Inventory: plan.NewInventory([]metav1alpha1.InventoryEntry{entry("b"), entry("a")}),
		Phase:     manifests.PhasePreDelete, Skipped: []manifests.Key{key("skipped")},
		Applied: true, Ready: 1, Desired: 2, NextDue: due,
		Waiting: []plan.Waiting{
			{Key: key("a"), Wave: 1, Reason: plan.WaitNotGone, Message: "m"},
			{Key: key("b"), Reason: plan.WaitForbidden, Failure: &plan.Failure{Class: plan.Terminal}},
			{Key: key("c"), Reason: plan.WaitAPIError, Failure: &plan.Failure{Class: plan.Transient}},
		},
		RepairConflicts: []plan.RepairConflict{{Key: key("d"), Wave: 3, Message: "n"}},
		Blocked: []plan.Blocker{
			{Type: widgets, Foreign: plan.ForeignInstances{Count: 2, Keys: []manifests.Key{
				{Kind: "X", Name: "x"},
				{Kind: "X", Name: "y"},
			}}},
			{Type: widgets, Foreign: plan.ForeignInstances{Err: errors.New("refused")}},
		},
	}, changes)
	report := func(name string, wave int32, reason plan.WaitReason, message string) metav1alpha1.DependentReport {
		return metav1alpha1.DependentReport{
			Dependent: "ConfigMap shop/" + name, Wave: wave, Reason: string(reason), Message: message,
		}
	}
	want := outcome.Outcome{Outcome: result.Outcome{
		Inventory: []metav1alpha1.InventoryEntry{entry("a"), entry("b")},
		Phase:     manifests.PhasePreDelete, Skipped: []manifests.Key{key("skipped")},
		Applied: true, Ready: 1, Desired: 2, NextDue: due,
		Waiting: []result.Waiting{
			{DependentReport: report("a", 1, plan.WaitNotGone, "m")},
			{DependentReport: report("b", 0, plan.WaitForbidden, ""), Failed: true, Terminal: true},
			{DependentReport: report("c", 0, plan.WaitAPIError, ""), Failed: true},
		},
		RepairConflicts: []metav1alpha1.DependentReport{report("d", 3, plan.WaitRepairConflict, "n")},
		Blocked: []result.Blocked{
			{Type: "Widget.example.com", Count: 2, Names: []string{"X x", "X y"}},
			{Type: "Widget.example.com", Error: "refused"},
		},
		Changes: changes,
	}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(metav1alpha1.InventoryEntry{})); diff != "" {
		t.Error(diff)
	}
}
