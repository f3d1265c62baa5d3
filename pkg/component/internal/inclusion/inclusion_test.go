package inclusion_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inclusion"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func object(name string, c *manifests.Conditions) manifests.Object {
	return manifests.Object{Key: manifests.Key{Kind: "ConfigMap", Name: name}, Settings: manifests.Settings{Conditions: c}}
}

func TestDecide(t *testing.T) {
	for _, c := range []struct {
		name       string
		conditions manifests.Conditions
		recorded   bool
		// want is applied, excluded, left out, inactive, or the beginning of the reason why the condition has no value.
		want string
	}{
		{"true", manifests.Conditions{Include: "parameters.exposed"}, false, "applied"},
		{"false", manifests.Conditions{Include: "!parameters.exposed"}, true, "excluded"},
		{
			"the name of the component",
			manifests.Conditions{Include: "component.name == 'shop' && component.namespace == 'a'"},
			true, "applied",
		},
		{
			"a missing parameter",
			manifests.Conditions{Include: "parameters.none"},
			true,
			`include-when: the expression "parameters.none" reads a parameter that is not set; set it`,
		},
		{"an export", manifests.Conditions{Include: "exports.ready", Exports: []string{"ready"}}, false, "applied"},
		{"a false export", manifests.Conditions{Include: "!exports.ready", Exports: []string{"ready"}}, true, "excluded"},
		{
			"a missing export",
			manifests.Conditions{Include: "exports.none == 1", Exports: []string{"none"}},
			true,
			`include-when: the expression "exports.none == 1" waits for export none: it does not exist; the object stays as it is`,
		},
		{
			"a missing export of an active object",
			manifests.Conditions{Active: "exports.none == 1", Exports: []string{"none"}},
			true, `active-when: the expression "exports.none == 1" waits for export none`,
		},
		{"a missing export that does not matter", manifests.Conditions{
			Include: "exports.none == 1 && false",
			Exports: []string{"none"},
		}, true, "excluded"},
		{"a missing export beside a true value", manifests.Conditions{
			Include: "exports.none == 1 || parameters.exposed",
			Exports: []string{"none"},
		}, true, "applied"},
		{
			"a missing field of an export",
			manifests.Conditions{Include: "has(exports.list.none)", Exports: []string{"list"}},
			true, "excluded",
		},
		{
			"a missing parameter with a default",
			manifests.Conditions{Include: "parameters.?none.orValue(false)"},
			true, "excluded",
		},
		{
			"a text",
			manifests.Conditions{Include: "parameters.password"},
			true,
			"include-when: the expression \"parameters.password\" failed; check the types of the parameters and exports",
		},
		{"a served type", manifests.Conditions{Active: "served('Yes.example.com')"}, false, "applied"},
		{"an unserved type", manifests.Conditions{Active: "served('No.example.com')"}, false, "left out"},
		{"an unserved type of a recorded object", manifests.Conditions{Active: "served('No.example.com')"}, true, "inactive"},
		{
			"a type that may be served",
			manifests.Conditions{Active: "served('Unknown.example.com')"},
			true,
			"active-when: it is not known whether the API server serves a type that served() names, because discovery failed",
		},
		{
			"a text instead of a type",
			manifests.Conditions{Active: "served('')"},
			true,
			`active-when: the expression "served('')" failed`,
		},
		{"excluded and inactive", manifests.Conditions{Include: "false", Active: "false"}, true, "excluded"},
		{"excluded and undecided", manifests.Conditions{Include: "false", Active: "parameters.none"}, true, "excluded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			plain, conditional := object("plain", nil), object("conditional", &c.conditions)
			d := inclusion.Decide(t.Context(), []manifests.Object{plain, conditional, plain}, inclusion.Inputs{
				Namespace: "a", Name: "shop", Parameters: map[string]any{"exposed": true, "password": "geheim"},
				Recorded: func(manifests.Key) bool { return c.recorded },
				Export: func(name string) (any, string) {
					value, known := map[string]any{"ready": true, "list": map[string]any{"a": int64(1)}}[name]
					if !known {
						return nil, "it does not exist"
					}
					return value, ""
				},
				Served: func(gk schema.GroupKind) (bool, error) {
					if gk.Kind == "Unknown" {
						return false, errors.New("discovery of geheim failed")
					}
					return gk.Kind == "Yes", nil
				},
			})
			if got := state(d, conditional.Key); !strings.Contains(got, c.want) || strings.Contains(got, "geheim") {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if len(d.Desired) < 2 || d.Desired[0].Held != nil || d.Desired[len(d.Desired)-1].Key != plain.Key {
				t.Errorf("the other objects changed: %v", d.Desired)
			}
		})
	}
}

func TestAnObjectWhoseTypeIsNotServedHasTheKeyOfItsEntry(t *testing.T) {
	for _, c := range []struct {
		name     string
		recorded manifests.Key
		key      manifests.Key
		want     string
	}{
		{
			"recorded with the default namespace",
			manifests.Key{Kind: "Widget", Namespace: "a", Name: "one"},
			manifests.Key{Kind: "Widget", Name: "one"},
			"inactive",
		},
		{
			"recorded without a namespace",
			manifests.Key{Kind: "Widget", Name: "one"},
			manifests.Key{Kind: "Widget", Name: "one"},
			"inactive",
		},
		{
			"recorded with the namespace of its manifest",
			manifests.Key{Kind: "Widget", Namespace: "b", Name: "one"},
			manifests.Key{Kind: "Widget", Namespace: "b", Name: "one"},
			"inactive",
		},
		{
			"recorded in another namespace",
			manifests.Key{Kind: "Widget", Namespace: "b", Name: "one"},
			manifests.Key{Kind: "Widget", Name: "one"},
			"left out",
		},
		{
			"recorded with another name",
			manifests.Key{Kind: "Widget", Namespace: "a", Name: "two"},
			manifests.Key{Kind: "Widget", Name: "one"},
			"left out",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := manifests.Object{
				Key: c.key, Scope: manifests.ScopeUnknown,
				Settings: manifests.Settings{Conditions: &manifests.Conditions{Active: "false"}},
			}
			d := inclusion.Decide(t.Context(), []manifests.Object{o}, unserved(c.recorded))
			if got := state(d, c.recorded); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// unserved returns the inputs of a component in the namespace a whose inventory contains one object.
func unserved(recorded manifests.Key) inclusion.Inputs {
	return inclusion.Inputs{
		Namespace: "a", Name: "shop", Recorded: func(k manifests.Key) bool { return k == recorded },
	}
}

func TestAnAppliedObjectWhoseTypeIsNotServedHasTheKeyOfItsEntry(t *testing.T) {
	bare := manifests.Key{Kind: "Widget", Name: "one"}
	in := func(namespace string) manifests.Key {
		return manifests.Key{Kind: "Widget", Namespace: namespace, Name: "one"}
	}
	for _, c := range []struct {
		name     string
		scope    manifests.Scope
		recorded manifests.Key
		others   []manifests.Key
		want     manifests.Key
	}{
		{"recorded with the default namespace", manifests.ScopeUnknown, in("a"), nil, in("a")},
		{"recorded without a namespace", manifests.ScopeUnknown, bare, nil, bare},
		{"recorded in another namespace", manifests.ScopeUnknown, in("b"), nil, bare},
		{"not recorded", manifests.ScopeUnknown, manifests.Key{}, nil, bare},
		{"of a type that is served for the cluster", manifests.ScopeCluster, in("a"), nil, bare},
		{"beside an object that has the key of the entry", manifests.ScopeUnknown, in("a"), []manifests.Key{in("a")}, bare},
	} {
		for _, conditional := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, conditional: %t", c.name, conditional), func(t *testing.T) {
				set := []manifests.Object{{Key: bare, Scope: c.scope}}
				for _, key := range c.others {
					set = append(set, manifests.Object{Key: key, Scope: manifests.ScopeUnknown})
				}
				if conditional {
					set = append(set, object("conditional", &manifests.Conditions{Include: "true"}))
				}
				d := inclusion.Decide(t.Context(), set, unserved(c.recorded))
				if len(d.Desired) != len(set) || d.Desired[0].Key != c.want || set[0].Key != bare {
					t.Errorf("got %s of %d objects, want %s of %d", d.Desired[0].Key, len(d.Desired), c.want, len(set))
				}
			})
		}
	}
}

func TestDependenciesFollowTheKeyOfTheEntry(t *testing.T) {
	bare := manifests.Key{Kind: "Widget", Name: "one"}
	entry := manifests.Key{Kind: "Widget", Namespace: "a", Name: "one"}
	for _, c := range []struct {
		conditions *manifests.Conditions
		namespace  string
		want       string
	}{
		{nil, "a", "applied"},
		{&manifests.Conditions{Include: "false"}, "a", "excluded"},
		{&manifests.Conditions{Active: "false"}, "a", "inactive"},
		{&manifests.Conditions{Active: "false"}, "b", "inactive"},
	} {
		one := object("one", c.conditions)
		one.Key, one.Scope = bare, manifests.ScopeUnknown
		depends, binds := object("depends", nil), object("binds", nil)
		depends.Key.Namespace = c.namespace
		depends.Settings.Graph = &manifests.GraphSettings{
			DependsOn: []manifests.Dependency{{Key: bare}}, Edges: []manifests.Key{{Kind: "A", Name: "a"}, bare},
		}
		binds.Settings.Graph = &manifests.GraphSettings{Exporters: []manifests.Key{bare}}
		in := unserved(entry)
		in.Recorded = func(k manifests.Key) bool { return k == entry || k == depends.Key || k == binds.Key }
		d := inclusion.Decide(t.Context(), []manifests.Object{one, depends, binds}, in)
		for _, key := range []manifests.Key{entry, depends.Key, binds.Key} {
			if got := state(d, key); got != c.want {
				t.Errorf("%+v: %s is %s, want %s", c.conditions, key, got, c.want)
			}
		}
		if c.conditions == nil {
			edges, exporters := d.Desired[1].Edges(), d.Desired[2].Settings.Graph.Exporters
			if !slices.Equal(edges, []manifests.Key{{Kind: "A", Name: "a"}, entry}) || exporters[0] != entry {
				t.Errorf("got the edges %v and the exporters %v, want those of %s", edges, exporters, entry)
			}
		}
		if depends.Edges()[1] != bare || binds.Settings.Graph.Exporters[0] != bare {
			t.Error("the set was changed")
		}
	}
}

func TestDependentObjectsInherit(t *testing.T) {
	for _, c := range []struct {
		dependency string
		conditions manifests.Conditions
		want       string
	}{
		{"ConfigMap conditional", manifests.Conditions{Include: "false"}, "excluded"},
		{"ConfigMap conditional?", manifests.Conditions{Include: "false"}, "applied"},
		{"ConfigMap conditional", manifests.Conditions{Active: "false"}, "inactive"},
		{"ConfigMap conditional?", manifests.Conditions{Active: "false"}, "applied"},
		{"ConfigMap conditional", manifests.Conditions{Active: "parameters.none"}, "applied"},
	} {
		dependencies, err := settingtext.ParseDependencies(c.dependency)
		if err != nil {
			t.Fatal(err)
		}
		first, second, third := object("conditional", &c.conditions), object("second", nil), object("third",
			&manifests.Conditions{Include: "true"})
		second.Settings.Graph = &manifests.GraphSettings{
			DependsOn: dependencies, List: settingtext.JoinDependencies(dependencies), Edges: []manifests.Key{first.Key},
		}
		third.Settings.Graph = &manifests.GraphSettings{
			DependsOn: []manifests.Dependency{{Key: second.Key}}, Edges: []manifests.Key{second.Key},
		}
		d := inclusion.Decide(t.Context(), []manifests.Object{first, second, third}, inclusion.Inputs{
			Recorded: func(manifests.Key) bool { return true },
		})
		for _, o := range []manifests.Object{second, third} {
			if got := state(d, o.Key); got != c.want {
				t.Errorf("%s: %s is %s, want %s", c.dependency, o.Key, got, c.want)
			}
		}
	}
}

func TestBindersInherit(t *testing.T) {
	for _, c := range []struct {
		conditions manifests.Conditions
		want       string
	}{
		{manifests.Conditions{Include: "false"}, "excluded"},
		{manifests.Conditions{Active: "false"}, "inactive"},
		{manifests.Conditions{Active: "parameters.none"}, "applied"},
		{manifests.Conditions{Include: "true"}, "applied"},
	} {
		// The binder comes before the object that exports the value, and a further object depends on the binder.
		exporter, binder, third := object("source", &c.conditions), object("binder", nil), object("third", nil)
		binder.Settings.Graph = &manifests.GraphSettings{Exporters: []manifests.Key{exporter.Key}}
		third.Settings.Graph = &manifests.GraphSettings{
			DependsOn: []manifests.Dependency{{Key: binder.Key}}, Edges: []manifests.Key{binder.Key},
		}
		d := inclusion.Decide(t.Context(), []manifests.Object{binder, exporter, third}, inclusion.Inputs{
			Recorded: func(manifests.Key) bool { return true },
		})
		for _, o := range []manifests.Object{binder, third} {
			if got := state(d, o.Key); got != c.want {
				t.Errorf("%v: %s is %s, want %s", c.conditions, o.Key, got, c.want)
			}
		}
	}
}

func TestAnExcludedObservedObjectIsNotDeleted(t *testing.T) {
	for _, conditions := range []manifests.Conditions{{Include: "false"}, {Active: "false"}} {
		observed := object("theirs", &conditions)
		observed.Settings.ReconcilePolicy = metav1alpha1.ReconcileObserve
		d := inclusion.Decide(t.Context(), []manifests.Object{observed}, inclusion.Inputs{})
		if deletes, ok := d.Excluded[observed.Key]; !ok || deletes || len(d.Desired) != 0 {
			t.Errorf("%v: got %v", conditions, d)
		}
	}
}

func state(d inclusion.Decision, key manifests.Key) string {
	if d.Excluded[key] {
		return "excluded"
	}
	for _, o := range d.Desired {
		switch {
		case o.Key != key:
		case o.Held == nil:
			return "applied"
		case o.Held.Undecided == "":
			return "inactive"
		default:
			return o.Held.Undecided
		}
	}
	return "left out"
}

func TestASetWithoutConditionsIsNotCopied(t *testing.T) {
	set := []manifests.Object{object("a", nil), object("b", nil)}
	d := inclusion.Decide(t.Context(), set, inclusion.Inputs{})
	if &d.Desired[0] != &set[0] || d.Excluded != nil || d.LeftOut != nil {
		t.Error("the set was copied")
	}
}

// An object that depends on an object whose condition has no value, or binds a value of such an object, is undecided
// too, also indirectly. Optional dependencies and groups do not pass this on.
func TestUndecidedIsInherited(t *testing.T) {
	depends := func(name string, g manifests.GraphSettings, edges ...manifests.Key) manifests.Object {
		o := object(name, nil)
		g.Edges, o.Settings.Graph = edges, &g
		return o
	}
	a := object("a", &manifests.Conditions{Include: "parameters.none"})
	out := object("out", &manifests.Conditions{Include: "false"})
	direct := depends("direct", manifests.GraphSettings{DependsOn: []manifests.Dependency{{Key: a.Key}}}, a.Key)
	both := manifests.GraphSettings{DependsOn: []manifests.Dependency{{Key: a.Key}, {Key: out.Key}}}
	d := inclusion.Decide(t.Context(), []manifests.Object{
		a, out, direct,
		depends("indirect", manifests.GraphSettings{DependsOn: []manifests.Dependency{{Key: direct.Key}}}, direct.Key),
		depends("binds", manifests.GraphSettings{Exporters: []manifests.Key{a.Key}}),
		depends("optional", manifests.GraphSettings{DependsOn: []manifests.Dependency{{Key: a.Key, Optional: true}}}, a.Key),
		depends("group", manifests.GraphSettings{DependsOn: []manifests.Dependency{{Group: "g"}}}, a.Key),
		depends("both", both, a.Key, out.Key), object("other", nil),
	}, inclusion.Inputs{Recorded: func(manifests.Key) bool { return true }})
	var got []string
	for _, o := range d.Desired {
		if o.Undecided != nil {
			got = append(got, o.Key.Name+" by "+o.Undecided.Name)
		}
	}
	if want := "direct by a, indirect by a, binds by a"; strings.Join(got, ", ") != want || len(d.Excluded) != 2 {
		t.Errorf("got %s, want %s; excluded %v", strings.Join(got, ", "), want, d.Excluded)
	}
}

// BenchmarkDecide evaluates a condition over an export for each of 2,000 objects, which depend on each other.
func BenchmarkDecide(b *testing.B) {
	for name, conditions := range map[string]*manifests.Conditions{
		"include-when": {Include: "exports.mode == 'on'", Exports: []string{"mode"}},
		"active-when":  {Active: "exports.mode == 'on'", Exports: []string{"mode"}},
		"served":       {Active: "served('Ingress.networking.k8s.io')"},
	} {
		b.Run(name, func(b *testing.B) {
			set := []manifests.Object{object("root", conditions)}
			for i := range 1999 {
				o, on := object(fmt.Sprint(i), conditions), set[i/2].Key
				o.Settings.Graph = &manifests.GraphSettings{
					DependsOn: []manifests.Dependency{{Key: on}}, Edges: []manifests.Key{on},
				}
				set = append(set, o)
			}
			in := inclusion.Inputs{
				Recorded: func(manifests.Key) bool { return true }, Export: func(string) (any, string) { return "on", "" },
				Served: func(schema.GroupKind) (bool, error) { return true, nil },
			}
			for b.Loop() {
				if d := inclusion.Decide(b.Context(), set, in); len(d.Desired) != len(set) {
					b.Fatalf("%d objects are applied, want %d", len(d.Desired), len(set))
				}
			}
		})
	}
}
