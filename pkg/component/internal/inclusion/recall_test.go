package inclusion_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inclusion"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

type entries map[manifests.Key]metav1alpha1.InventoryEntry

func TestRecall(t *testing.T) {
	const undecided = "it is not decided whether the object is applied: its condition, or that of an object that it " +
		"depends on, needs the inputs of the component; the object stays as it is"
	web := manifests.Key{Group: "apps", Kind: "Deployment", Namespace: "a", Name: "web"}
	bare := manifests.Key{Kind: "Widget", Name: "one"}
	namespaced := manifests.Key{Kind: "Widget", Namespace: "a", Name: "one"}
	applied := metav1alpha1.InventoryEntry{Digest: "d"}
	leftOut := metav1alpha1.InventoryEntry{Digest: "d", LeftOut: true}
	active := manifests.Conditions{Active: "served('Gateway.example.com')"}
	included := manifests.Conditions{Include: "parameters.exposed"}
	byExport := manifests.Conditions{Include: "exports.ready", Exports: []string{"ready"}}
	both := manifests.Conditions{Include: "exports.ready", Active: "parameters.on", Exports: []string{"ready"}}
	observed := manifests.Settings{ReconcilePolicy: metav1alpha1.ReconcileObserve}
	for _, c := range []struct {
		name string
		// key and settings are those of the object; the settings include the conditions.
		key        manifests.Key
		scope      manifests.Scope
		settings   manifests.Settings
		conditions *manifests.Conditions
		inventory  entries
		observed   entries
		// isOld is set if the version that wrote the inventory did not note which objects are left out.
		isOld bool
		// asked is the key in the decision; that of the object if it is empty.
		asked manifests.Key
		want  string
	}{
		{name: "an object without conditions", inventory: entries{web: applied}, want: "applied"},
		{name: "an inactive object", conditions: &active, inventory: entries{web: leftOut}, want: "inactive"},
		{name: "an active object", conditions: &active, inventory: entries{web: applied}, want: "applied"},
		{
			name: "an excluded object that still exists", conditions: &included, inventory: entries{web: leftOut},
			want: "inactive",
		},
		{name: "an excluded object that was deleted", conditions: &included, want: "left out"},
		{name: "included by a parameter", conditions: &included, inventory: entries{web: applied}, want: "applied"},
		{name: "excluded by an export", conditions: &byExport, inventory: entries{web: leftOut}, want: "inactive"},
		{name: "included by an export", conditions: &byExport, inventory: entries{web: applied}, want: "applied"},
		{name: "two conditions that hold", conditions: &both, inventory: entries{web: applied}, want: "applied"},
		{
			name: "two conditions, one of which is false", conditions: &both, inventory: entries{web: leftOut},
			want: "inactive",
		},
		{
			name: "left out in a later rendering, in which it has a condition", inventory: entries{web: leftOut},
			want: "inactive",
		},
		{
			name: "recorded with the default namespace, now of a type that is not served", key: bare,
			scope: manifests.ScopeUnknown, inventory: entries{namespaced: applied}, asked: namespaced, want: "applied",
		},
		{
			name: "left out with the default namespace, now of a type that is not served", key: bare,
			scope: manifests.ScopeUnknown, conditions: &active, inventory: entries{namespaced: leftOut}, asked: namespaced,
			want: "inactive",
		},
		{
			name: "recorded in another namespace, now of a type that is not served", key: bare, scope: manifests.ScopeUnknown,
			inventory: entries{{Kind: "Widget", Namespace: "b", Name: "one"}: applied}, want: "left out",
		},
		{
			name: "recorded without a namespace, of a type that is not served", key: bare, scope: manifests.ScopeUnknown,
			inventory: entries{bare: applied}, want: "applied",
		},
		{name: "never recorded, because its type is not served", key: bare, scope: manifests.ScopeUnknown, want: "left out"},
		{name: "no entry", want: "left out"},
		{name: "no entry, with a condition", conditions: &included, want: "left out"},
		{
			name: "an entry of another object", inventory: entries{{Kind: "ConfigMap", Namespace: "a", Name: "b"}: applied},
			want: "left out",
		},
		{name: "an entry that was never applied", inventory: entries{web: {}}, want: "applied"},
		{name: "only observed", settings: observed, want: "applied"},
		{
			name: "only observed, with a condition that held", settings: observed, conditions: &included,
			observed: entries{web: {}}, want: "applied",
		},
		{name: "only observed, with a condition that was false", settings: observed, conditions: &included, want: "left out"},
		{
			name: "only observed, of a type that is not served", key: bare, scope: manifests.ScopeUnknown, settings: observed,
			conditions: &active, observed: entries{namespaced: {}}, asked: namespaced, want: "applied",
		},
		{
			name: "an inventory of an older version, without conditions", inventory: entries{web: applied}, isOld: true,
			want: "applied",
		},
		{
			name: "an inventory of an older version, with a condition", conditions: &included, inventory: entries{web: applied},
			isOld: true, want: undecided,
		},
		{
			name: "left out by a newer version, and kept by an older one", conditions: &active, inventory: entries{web: leftOut},
			isOld: true, want: "inactive",
		},
		{name: "no entry in an inventory of an older version", conditions: &included, isOld: true, want: "left out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := manifests.Object{Key: web, Scope: manifests.ScopeNamespaced, Settings: c.settings}
			if c.scope != "" {
				o.Key, o.Scope = c.key, c.scope
			}
			o.Settings.Conditions = c.conditions
			plain := object("plain", nil)
			inventory := entries{plain.Key: applied}
			maps.Copy(inventory, c.inventory)
			set := []manifests.Object{o, plain}
			d := inclusion.Recall(set, inclusion.LastPass{
				Namespace: "a", Inventory: inventory, Observed: c.observed, TellsLeftOut: !c.isOld,
			})
			asked := o.Key
			if c.asked.Name != "" {
				asked = c.asked
			}
			if got := state(d, asked); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if last := d.Desired[len(d.Desired)-1]; last.Key != plain.Key || last.Held != nil {
				t.Errorf("the other object changed: %v", d.Desired)
			}
			if set[0].Held != nil || set[0].Key != o.Key || len(d.Excluded)+len(d.LeftOut) > 0 {
				t.Errorf("the set changed, or objects are removed: %v", d)
			}
			if d.KeyOf(o.Key) != asked {
				t.Errorf("the key in the decision is %s", d.KeyOf(o.Key))
			}
		})
	}
}

// Each occurrence of an object is held.
func TestRecallHoldsAllOccurrences(t *testing.T) {
	first, second := object("a", &manifests.Conditions{Active: "false"}), object("a", nil)
	second.Occurrence = 1
	d := inclusion.Recall([]manifests.Object{first, second}, inclusion.LastPass{
		Inventory: entries{first.Key: {LeftOut: true, Occurrence: 2}}, TellsLeftOut: true,
	})
	if len(d.Desired) != 2 || d.Desired[0].Held == nil || d.Desired[1].Held == nil {
		t.Errorf("got %v", d.Desired)
	}
}

// TestRecallDecidesAsTheLastPass decides about random graphs, enters the decision into an inventory as a pass does, and
// recalls it. Each object with an entry then gets the same decision again.
func TestRecallDecidesAsTheLastPass(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(graphsTried) {
		random := rand.New(rand.NewPCG(seed, 1))
		g := newRandomGraph(random)
		var set []manifests.Object
		for _, i := range random.Perm(len(g)) {
			o, err := g.object(i)
			if err != nil {
				t.Fatal(err)
			}
			set = append(set, o)
		}
		last := inclusion.LastPass{
			Namespace: "a", Inventory: entries{}, Observed: entries{}, TellsLeftOut: seed%2 == 0,
		}
		d := inclusion.Decide(t.Context(), set, randomInputs(func(manifests.Key) bool { return true }))
		for i, n := range g {
			e := metav1alpha1.InventoryEntry{Digest: "d"}
			switch g.got(d, i) {
			case outcomeDeleted, outcomeInactive:
				e.LeftOut = last.TellsLeftOut
			case outcomeUndecided:
				// The inventory still contains the decision of an earlier pass.
				e.LeftOut = last.TellsLeftOut && random.IntN(2) == 0
			}
			switch {
			case !n.observed && n.recorded:
				last.Inventory[g.key(i)] = e
			case n.observed && g.got(d, i) != outcomeReleased:
				last.Observed[g.key(i)] = e
			}
		}
		recalled := inclusion.Recall(set, last)
		for i := range g {
			want := g.wantRecalled(last, i)
			seen[want]++
			if got := g.got(recalled, i); got != want {
				t.Fatalf("seed %d: %s: got %q, want %q\n%s", seed, g.key(i).Name, got, want, g)
			}
		}
	}
	for _, outcome := range []string{outcomeApplied, outcomeInactive, outcomeLeftOut, outcomeUndecided} {
		if seen[outcome] < leastSeen {
			t.Errorf("%d objects are %s, want at least %d", seen[outcome], outcome, leastSeen)
		}
	}
	t.Logf("objects by outcome: %v", seen)
}

// wantRecalled returns the outcome of an object without the values of conditions.
func (g randomGraph) wantRecalled(last inclusion.LastPass, i int) string {
	e, isRecorded := last.Inventory[g.key(i)]
	_, isObserved := last.Observed[g.key(i)]
	switch {
	case g[i].observed && (isObserved || !g.isConditional(i)):
		return outcomeApplied
	case g[i].observed, !isRecorded:
		return outcomeLeftOut
	case e.LeftOut:
		return outcomeInactive
	case !last.TellsLeftOut && g.isConditional(i):
		return outcomeUndecided
	}
	return outcomeApplied
}

// isConditional: the object has a condition, or inherits from an object that has one.
func (g randomGraph) isConditional(i int) bool {
	return g[i].include != truthNone || g[i].active != truthNone || g.anyOf(i, g.isConditional)
}

// BenchmarkRecall recalls the decisions about 2,000 objects with conditions, which depend on each other.
func BenchmarkRecall(b *testing.B) {
	conditions := &manifests.Conditions{Include: "exports.mode == 'on'", Exports: []string{"mode"}}
	set := []manifests.Object{object("root", conditions)}
	last := inclusion.LastPass{Namespace: "a", Inventory: entries{set[0].Key: {}}}
	for i := range 1999 {
		o, on := object(fmt.Sprint(i), nil), set[i/2].Key
		o.Settings.Graph = &manifests.GraphSettings{
			DependsOn: []manifests.Dependency{{Key: on}}, Edges: []manifests.Key{on},
		}
		set, last.Inventory[o.Key] = append(set, o), metav1alpha1.InventoryEntry{}
	}
	for b.Loop() {
		if d := inclusion.Recall(set, last); len(d.Desired) != len(set) {
			b.Fatalf("%d objects are applied, want %d", len(d.Desired), len(set))
		}
	}
}
