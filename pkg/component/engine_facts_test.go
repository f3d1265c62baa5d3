package component

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestLatest(t *testing.T) {
	watched := plan.Observed{Presence: plan.Present, UID: "u1", ResourceVersion: "5"}
	in := func(version string) *plan.Observed {
		return &plan.Observed{Presence: plan.Present, UID: "u1", ResourceVersion: version, Values: "v"}
	}
	absent := &plan.Observed{Presence: plan.Absent, Confirmed: true, UID: "u1", ResourceVersion: "5"}
	other := func(version string) plan.Observed {
		return plan.Observed{Presence: plan.Present, UID: "u2", ResourceVersion: version}
	}
	in7 := watched
	in7.ResourceVersion = "7"
	written := func(version string, coverage plan.Coverage, change func(*plan.Observed)) plan.Observed {
		o := plan.Observed{Presence: plan.Present, UID: "u1", ResourceVersion: version, Digest: "d", Applied: "fields", Coverage: coverage}
		change(&o)
		return o
	}
	as := func(*plan.Observed) {}
	covered, partial := written("4", plan.CoverageFull, as), written("4", plan.CoveragePartial, as)
	for _, c := range []struct {
		name     string
		watched  plan.Observed
		answered *plan.Observed
		want     plan.Observed
	}{
		{"without an answer the watch counts", watched, nil, watched},
		{"a newer answer counts", watched, in("6"), *in("6")},
		{"an answer of the same version counts, for it tells more", watched, in("5"), *in("5")},
		{"a newer event counts", watched, in("4"), watched},
		{"an answer counts where the watch sees nothing", plan.Observed{Presence: plan.Absent}, in("4"), *in("4")},
		{"an answer counts where the watch is blind", plan.Observed{Presence: plan.Unknown}, absent, *absent},
		{"what is gone does not come back with a watch that lags behind", watched, absent, *absent},
		{"nor with a last event before it went", in7, absent, *absent},
		{"the successor of an object that is gone counts", other("6"), absent, other("6")},
		{"its predecessor does not", other("4"), absent, *absent},
		{"where it was never known in any version the watch counts", other("4"), &plan.Observed{Presence: plan.Absent, Confirmed: true}, other("4")},
		{"an answer about the successor counts while the watch shows the predecessor", other("4"), in("5"), *in("5")},
		{"the watch counts when it shows the successor of what was answered", other("6"), in("5"), other("6")},
		{
			"what was answered of our fields holds while nobody takes one", written("5", plan.CoverageUnknown, as), &covered,
			written("5", plan.CoverageFull, as),
		},
		{"but not where they do not cover the manifest", written("5", plan.CoverageUnknown, as), &partial, written("5", plan.CoverageUnknown, as)},
		{
			"nor when one was taken",
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.Applied = "fewer" }), &covered,
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.Applied = "fewer" }),
		},
		{
			"nor when it was another operation's",
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.Updated = "fewer" }), &covered,
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.Updated = "fewer" }),
		},
		{
			"nor when it was applied from something else",
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.Digest = "e" }), &covered,
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.Digest = "e" }),
		},
		{
			"nor of a successor",
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.UID = "u2" }), &covered,
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.UID = "u2" }),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, latest(c.watched, plan.Result{Observed: c.answered})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

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
		{"a conflict is no change", create, plan.Result{Verb: plan.VerbRead, Observed: observed}, 0, 1, true},
		{"a failure is no change", create, plan.Result{Verb: plan.VerbCreate, Failure: &plan.Failure{}}, 0, 2, false},
		{"a write is a change", create, plan.Result{Verb: plan.VerbCreate, Observed: observed}, 1, 3, true},
		{"a read is no change", plan.Action{Verb: plan.VerbRead, Key: key}, plan.Result{Verb: plan.VerbRead, Observed: observed}, 0, 4, true},
		{"an answer that tells nothing leaves what is known", create, plan.Result{Verb: plan.VerbCreate}, 1, 5, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			changes := fold(results, c.action, c.result, nil)
			got := results[key]
			if len(changes) != c.changes || got.Attempts != c.attempts || (got.Observed != nil) != c.observed {
				t.Errorf("changes %v, result %+v", changes, got)
			}
			if c.changes == 1 && changes[0] != (outcome.Change{Verb: "Create", Key: key, Wave: 2, Reason: "it is new"}) {
				t.Errorf("got %+v", changes[0])
			}
		})
	}
}

func TestForeign(t *testing.T) {
	key := func(name string) manifests.Key {
		return manifests.Key{Group: "example.com", Kind: "Widget", Namespace: "shop", Name: name}
	}
	facts := plan.Facts{
		Owner: "us", Component: key("itself"),
		Inventory: plan.NewInventory([]metav1alpha1.InventoryEntry{
			{Group: "example.com", Version: "v1", Kind: "Widget", Namespace: "shop", Name: "ours", UID: "u1"},
			{Group: "example.com", Version: "v1", Kind: "Widget", Namespace: "shop", Name: "crashed"},
		}),
		Live: plan.Snapshot{},
	}
	for _, name := range []string{"itself", "ours", "crashed", "copy"} {
		facts.Live[key(name)] = &plan.Observed{Presence: plan.Present, Owner: "us", UID: "u2"}
	}
	for _, c := range []struct {
		name     string
		instance inspect.Instance
		want     int
	}{
		{"a recorded instance is ours", inspect.Instance{Key: key("ours"), UID: "u1"}, 0},
		{"another object of its name is not", inspect.Instance{Key: key("ours"), UID: "u9"}, 1},
		{"what is not recorded is not", inspect.Instance{Key: key("theirs"), UID: "u1"}, 1},
		{"one whose UID a crash kept from the record is", inspect.Instance{Key: key("crashed"), UID: "u2"}, 0},
		{"the component itself is, in a way", inspect.Instance{Key: key("itself"), UID: "u4"}, 0},
		{"one that was created anew, whose UID a crash kept from the record is", inspect.Instance{Key: key("ours"), UID: "u2"}, 0},
		{"what carries our mark under another name is not", inspect.Instance{Key: key("copy"), UID: "u2"}, 1},
		{"one that somebody else created under that name is not", inspect.Instance{Key: key("crashed"), UID: "u3"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := foreign(facts, []inspect.Instance{c.instance}); got.Count != c.want {
				t.Errorf("got %+v", got)
			}
		})
	}
	t.Run("in another cluster nothing is the component itself", func(t *testing.T) {
		there := facts
		there.RemoteTarget = true
		if got := foreign(there, []inspect.Instance{{Key: key("itself"), UID: "u4"}}); got.Count != 1 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("ten are named, in order, and all are counted", func(t *testing.T) {
		var many []inspect.Instance
		for _, name := range "lkjihgfedcba" {
			many = append(many, inspect.Instance{Key: key(string(name))})
		}
		got := foreign(facts, many)
		if got.Count != 12 || len(got.Names) != 10 || got.Names[0] != "Widget.example.com shop/a" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestUnchecked(t *testing.T) {
	entry := func(kind, name string, types ...string) metav1alpha1.InventoryEntry {
		return metav1alpha1.InventoryEntry{Version: "v1", Kind: kind, Name: name, Types: types}
	}
	widgets, gizmos := entry("Definition", "widgets", "Widget.example.com"), entry("Definition", "gizmos", "Gizmo.example.com")
	settings := entry("ConfigMap", "settings")
	p := plan.Plan{Inventory: plan.NewInventory([]metav1alpha1.InventoryEntry{widgets, gizmos, settings})}
	checked := map[manifests.Key]bool{}
	for _, c := range []struct {
		name    string
		verb    plan.Verb
		entries []metav1alpha1.InventoryEntry
		want    []metav1alpha1.InventoryEntry
	}{
		{"what is read is not checked", plan.VerbRead, []metav1alpha1.InventoryEntry{widgets}, nil},
		{"what holds nothing is not checked", plan.VerbDelete, []metav1alpha1.InventoryEntry{settings}, nil},
		{"the first definition is checked", plan.VerbDelete, []metav1alpha1.InventoryEntry{widgets, settings}, []metav1alpha1.InventoryEntry{widgets}},
		{"a later one, too, and the first not again", plan.VerbDelete, []metav1alpha1.InventoryEntry{widgets, gizmos}, []metav1alpha1.InventoryEntry{gizmos}},
		{"none is checked twice", plan.VerbDelete, []metav1alpha1.InventoryEntry{widgets, gizmos}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.Actions = nil
			for _, e := range c.entries {
				p.Actions = append(p.Actions, plan.Action{Verb: c.verb, Key: plan.KeyOf(e)})
			}
			if diff := cmp.Diff(c.want, unchecked(p, checked), cmpopts.IgnoreUnexported(metav1alpha1.InventoryEntry{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
