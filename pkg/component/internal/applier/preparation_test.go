package applier

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// planned is a plan that a preparation permits or refuses.
type planned struct {
	verbs  string
	record bool
	// want are the callbacks that are called before the actions.
	want string
}

func TestPreparationCallsBeforeRecordAndConfirm(t *testing.T) {
	for _, c := range []struct {
		name  string
		plans []planned
	}{
		{"reads call neither Before nor WriteInventory", []planned{{"Read", false, ""}, {"Read", false, ""}}},
		{"the first write calls Before, later writes do not", []planned{{"Apply", false, "before"}, {"Apply", false, ""}}},
		{"reads do not use up the call of Before", []planned{{"Read", false, ""}, {"Delete", false, "before"}}},
		{"the write of an admission guard calls Before", []planned{{"Guard", false, "before"}}},
		{"an inventory is recorded after Before", []planned{{"Create", true, "before, record"}}},
		{"an inventory is recorded before reads, too", []planned{{"Read", true, "record"}}},
		{
			"an inventory that changes again is recorded again",
			[]planned{{"Create", true, "before, record"}, {"Create", true, "record"}},
		},
		{
			"the first create without a record is confirmed",
			[]planned{{"Create", false, "before, confirm"}, {"Create", false, ""}},
		},
		{"a record confirms later creates", []planned{{"Create", true, "before, record"}, {"Create", false, ""}}},
		{"other writes are not confirmed", []planned{{"Apply Delete Orphan", false, "before"}, {"Create", false, "confirm"}}},
		{"a create among other writes is confirmed", []planned{{"Apply Create", false, "before, confirm"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log []string
			request := Request{
				Before:  func(context.Context) error { log = append(log, "before"); return nil },
				Confirm: func(context.Context) error { log = append(log, "confirm"); return nil },
				WriteInventory: func(context.Context, []metav1alpha1.InventoryEntry) error {
					log = append(log, "record")
					return nil
				},
			}
			var prep preparation
			for i, p := range c.plans {
				log = nil
				prep.unwritten = prep.unwritten || p.record
				if _, err := prep.permit(t.Context(), request, planOf(p.verbs)); err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(log, ", "); got != p.want {
					t.Errorf("plan %d: the preparation called %q, want %q", i+1, got, p.want)
				}
			}
		})
	}
}

func TestTheComponentIsConfirmedBeforeIntentsOfExternalsAreRecorded(t *testing.T) {
	for verb, want := range map[string]string{
		"Create": "confirm, prepare", "Apply": "confirm, prepare", "Delete": "confirm, prepare", "Read": "prepare",
	} {
		var log []string
		request := Request{
			Confirm:   func(context.Context) error { log = append(log, "confirm"); return nil },
			Externals: preparing{prepare: func() { log = append(log, "prepare") }},
		}
		key := manifests.Key{Group: manifests.ExternalGroup, Kind: "Thing", Name: "one"}
		decided := plan.Plan{Actions: []plan.Action{{Verb: plan.Verb(verb), Key: key}}}
		var prep preparation
		for range 2 {
			if _, err := prep.prepare(t.Context(), request, decided); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Join(log, ", "); got != want+", "+want {
			t.Errorf("%s: the preparation called %q, want %q twice", verb, got, want)
		}
	}
}

// preparing are Externals that say when intents are recorded.
type preparing struct {
	noExternals

	prepare func()
	tokens  map[manifests.Key]string
}

func (p preparing) Prepare(context.Context, []plan.Action) (map[manifests.Key]string, error) {
	p.prepare()
	return p.tokens, nil
}

func TestPreparationWritesTheTokensOfExternalsBeforeTheirCreate(t *testing.T) {
	key := manifests.Key{Group: manifests.ExternalGroup, Kind: "Thing", Name: "one"}
	recorded := []metav1alpha1.InventoryEntry{}
	request := Request{
		WriteInventory: func(_ context.Context, inventory []metav1alpha1.InventoryEntry) error {
			recorded = append(recorded, inventory...)
			return nil
		},
		Externals: preparing{prepare: func() {}, tokens: map[manifests.Key]string{key: "t2"}},
	}
	decided := plan.Plan{
		Actions:   []plan.Action{{Verb: plan.VerbCreate, Key: key}},
		Inventory: plan.Inventory{key: {Kind: "Thing", Name: "one", External: true, Begun: true, UID: "t1"}},
	}
	var prep preparation
	for _, want := range []bool{true, false} {
		if got, err := prep.prepare(t.Context(), request, decided); err != nil || got != want {
			t.Errorf("the inventory was recorded: %t, want %t, error %v", got, want, err)
		}
	}
	if len(recorded) != 1 || recorded[0].CreationToken != "t2" || decided.Inventory[key].CreationToken != "t2" {
		t.Errorf("the entries %v were recorded", recorded)
	}
}

func planOf(verbs string) plan.Plan {
	var p plan.Plan
	for verb := range strings.FieldsSeq(verbs) {
		p.Actions = append(p.Actions, plan.Action{Verb: plan.Verb(verb), Key: keyOf(strings.ToLower(verb))})
	}
	return p
}

func TestPreparationRefusesActions(t *testing.T) {
	failure := errors.New("it fails")
	fails := func(context.Context) error { return failure }
	for _, c := range []struct {
		name    string
		record  bool
		request Request
		want    string
	}{
		{"Before", false, Request{Before: fails}, "it fails"},
		{"Confirm", false, Request{Confirm: fails}, "confirm the component: it fails"},
		{
			"WriteInventory", true,
			Request{WriteInventory: func(context.Context, []metav1alpha1.InventoryEntry) error { return failure }},
			"write the inventory: it fails",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			prep := preparation{unwritten: c.record}
			_, err := prep.permit(t.Context(), c.request, planOf("Create"))
			if !errors.Is(err, failure) || err.Error() != c.want {
				t.Errorf("the preparation returned %v, want the error of the failed callback", err)
			}
			if len(prep.created) != 0 || prep.confirmed || prep.unwritten != c.record {
				t.Errorf("the preparation keeps a refused create as sent: %+v", prep)
			}
		})
	}
	t.Run("callbacks may be missing", func(t *testing.T) {
		prep := preparation{unwritten: true}
		if _, err := prep.permit(t.Context(), Request{}, planOf("Create")); err != nil {
			t.Error(err)
		}
	})
}

func TestPreparationReturnsTheEntriesOfCreatedObjects(t *testing.T) {
	entry := func(name string) metav1alpha1.InventoryEntry {
		return metav1alpha1.InventoryEntry{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name}
	}
	var prep preparation
	prep.add([]plan.Action{
		{Verb: plan.VerbCreate, Key: keyOf("created")},
		{Verb: plan.VerbApply, Key: keyOf("applied")},
		{Verb: plan.VerbCreateNamespace, Key: keyOf("implicit")},
	})
	prep.add([]plan.Action{
		{Verb: plan.VerbCreate, Key: keyOf("later")}, {Verb: plan.VerbCreate, Key: keyOf("forgotten")},
	})
	got := prep.entries(plan.NewInventory([]metav1alpha1.InventoryEntry{
		entry("created"), entry("applied"), entry("later"), entry("implicit"),
	})).Sorted()
	if names := strings.Split(namesOf(got), "+"); !slices.Equal(names, []string{"created", "later"}) {
		t.Errorf("the created objects are %v, want created and later", names)
	}
}
