package inclusion_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inclusion"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const (
	graphsTried = 400
	// leastSeen is the minimum number of objects with each outcome in all graphs together.
	leastSeen = 50
)

// truth is the value of a condition.
type truth string

const (
	// truthNone: the object does not have the condition, which is the same as true.
	truthNone  truth = "none"
	truthTrue  truth = "true"
	truthFalse truth = "false"
	// truthMissing: the condition reads a parameter or an export without a value.
	truthMissing truth = "missing"
	// truthFailing: the evaluation of the condition fails.
	truthFailing truth = "failing"
)

func (t truth) isUnknown() bool { return t == truthMissing || t == truthFailing }

// texts are expressions for both conditions. activeTexts are further expressions for active-when.
var (
	texts = map[truth][]string{
		truthNone: {""},
		truthTrue: {
			"parameters.yes", "exports.mode == 'on'", "component.name == 'shop'", "parameters.none || parameters.yes",
			"exports.late == 1 || parameters.yes", "parameters.text + 1 == 2 || parameters.yes",
		},
		truthFalse: {
			"!parameters.yes", "exports.mode == 'off'", "has(parameters.none)", "parameters.none && !parameters.yes",
			"exports.late == 1 && !parameters.yes", "parameters.text + 1 == 2 && !parameters.yes",
		},
		truthMissing: {
			"parameters.none", "!parameters.none", "exports.late == 1", "exports.late != 1 && parameters.yes",
			"parameters.none || !parameters.yes",
		},
		truthFailing: {
			"parameters.text", "parameters.text + 1 == 2", "!(parameters.text < 1)", "1 / parameters.zero == 1",
			"parameters.text + 1 == 2 || !parameters.yes",
		},
	}
	activeTexts = map[truth][]string{
		truthTrue:    {"served('Yes.example.com')"},
		truthFalse:   {"served('No.example.com')"},
		truthFailing: {"served('Unknown.example.com')", "!served('Unknown.example.com')"},
	}
)

func randomInputs(recorded func(manifests.Key) bool) inclusion.Inputs {
	return inclusion.Inputs{
		Namespace: "a", Name: "shop", Parameters: map[string]any{"yes": true, "text": "a", "zero": int64(0)},
		Recorded: recorded,
		Export: func(name string) (any, string) {
			if name == "mode" {
				return "on", ""
			}
			return nil, "it has no value yet"
		},
		Served: func(gk schema.GroupKind) (bool, error) {
			if gk.Kind == "Unknown" {
				return false, errors.New("discovery failed")
			}
			return gk.Kind == "Yes", nil
		},
	}
}

// node is a random object. The objects that it depends on have lower indexes in the graph.
type node struct {
	include, active         truth
	includeText, activeText string
	// required, optional and bound are the indexes of the objects of each kind of dependency.
	required, optional, bound []int
	// dependsOnGroup is set if the object depends on the group of the objects with inGroup.
	inGroup, dependsOnGroup bool
	recorded, observed      bool
}

// passing are the objects whose result this object inherits.
func (n node) passing() []int { return slices.Concat(n.required, n.bound) }

// randomGraph is an acyclic graph of objects.
type randomGraph []node

func newRandomGraph(random *rand.Rand) randomGraph {
	chance := func(percent int) bool { return random.IntN(100) < percent }
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	g := make(randomGraph, 2+random.IntN(16))
	// The graphs differ in their shares of dependencies, of conditions and of conditions that are not true.
	edges, conditions, untrue := 10+random.IntN(60), 20+random.IntN(80), 10+random.IntN(50)
	draw := func() truth {
		switch {
		case !chance(conditions):
			return truthNone
		case !chance(untrue):
			return truthTrue
		}
		return []truth{truthFalse, truthMissing, truthFailing}[random.IntN(3)]
	}
	for i := range g {
		n := node{include: draw(), active: draw(), recorded: chance(50), observed: chance(10)}
		n.includeText = pick(texts[n.include])
		n.activeText = pick(slices.Concat(texts[n.active], activeTexts[n.active]))
		// The members of the group come first, so that there are no cycles.
		n.inGroup = i < len(g)/2 && chance(40)
		n.dependsOnGroup = i >= len(g)/2 && chance(30)
		for range 3 {
			if i == 0 || !chance(edges) {
				continue
			}
			to := random.IntN(i)
			if slices.Contains(slices.Concat(n.required, n.optional, n.bound), to) {
				continue
			}
			kind := []*[]int{&n.required, &n.required, &n.optional, &n.bound}[random.IntN(4)]
			*kind = append(*kind, to)
		}
		g[i] = n
	}
	return g
}

func (g randomGraph) key(i int) manifests.Key {
	return manifests.Key{Kind: "ConfigMap", Namespace: "a", Name: fmt.Sprint("o", i)}
}

// dependsOn returns the annotation depends-on of an object.
func (g randomGraph) dependsOn(i int) string {
	var list []string
	for _, to := range g[i].required {
		list = append(list, "ConfigMap "+g.key(to).Name)
	}
	for _, to := range g[i].optional {
		list = append(list, "ConfigMap "+g.key(to).Name+"?")
	}
	if g[i].dependsOnGroup {
		list = append(list, "@members")
	}
	return strings.Join(list, ", ")
}

// object returns an object of the graph in the form that Normalise gives it.
func (g randomGraph) object(i int) (manifests.Object, error) {
	n := g[i]
	o := manifests.Object{Key: g.key(i)}
	if n.observed {
		o.Settings.ReconcilePolicy = metav1alpha1.ReconcileObserve
	}
	if n.include != truthNone || n.active != truthNone {
		o.Settings.Conditions = &manifests.Conditions{Include: n.includeText, Active: n.activeText}
		for _, name := range []string{"late", "mode"} {
			if strings.Contains(n.includeText+n.activeText, "exports."+name) {
				o.Settings.Conditions.Exports = append(o.Settings.Conditions.Exports, name)
			}
		}
	}
	settings := &manifests.GraphSettings{List: g.dependsOn(i)}
	o.Settings.Graph = settings
	if n.inGroup {
		settings.Group = "members"
	}
	for _, to := range n.bound {
		settings.Exporters = append(settings.Exporters, g.key(to))
	}
	if settings.List == "" {
		return o, nil
	}
	var err error
	settings.DependsOn, err = settingtext.ParseDependencies(settings.List)
	for to := range i {
		isMember := n.dependsOnGroup && g[to].inGroup
		if isMember || slices.Contains(slices.Concat(n.required, n.optional, n.bound), to) {
			settings.Edges = append(settings.Edges, g.key(to))
		}
		// An object that depends on others depends on those whose values it binds, too.
		if slices.Contains(n.bound, to) {
			settings.DependsOn = append(settings.DependsOn, manifests.Dependency{Key: g.key(to)})
		}
	}
	return o, err
}

// anyOf reports whether an object inherits from an object with a property.
func (g randomGraph) anyOf(i int, property func(int) bool) bool {
	return slices.ContainsFunc(g[i].passing(), property)
}

// isExcluded: an object is excluded only because a condition is false, its own or that of a dependency.
func (g randomGraph) isExcluded(i int) bool {
	return g[i].include == truthFalse || g.anyOf(i, g.isExcluded)
}

// isInactive: the same for active-when, which is not evaluated before include-when has a value.
func (g randomGraph) isInactive(i int) bool {
	return !g.isExcluded(i) && !g[i].include.isUnknown() && (g[i].active == truthFalse || g.anyOf(i, g.isInactive))
}

// isUndecided: a condition of the object has no value, and nothing else decides.
func (g randomGraph) isUndecided(i int) bool {
	return !g.isExcluded(i) && !g.isInactive(i) && (g[i].include.isUnknown() || g[i].active.isUnknown())
}

// isDoubtful: an object is not created before a dependency is decided.
func (g randomGraph) isDoubtful(i int) bool {
	return !g.isExcluded(i) && !g.isInactive(i) && !g.isUndecided(i) &&
		g.anyOf(i, func(to int) bool { return g.isUndecided(to) || g.isDoubtful(to) })
}

// undecidedBelow returns the names of the undecided objects that make it doubtful whether an object is applied.
func (g randomGraph) undecidedBelow(i int) (names []string) {
	for _, to := range g[i].passing() {
		if g.isUndecided(to) {
			names = append(names, g.key(to).Name)
		} else {
			names = append(names, g.undecidedBelow(to)...)
		}
	}
	return names
}

// These are the outcomes for an object. Excluded objects are deleted unless they are only observed.
const (
	outcomeApplied   = "applied"
	outcomeDeleted   = "excluded and deleted"
	outcomeReleased  = "excluded and not deleted"
	outcomeInactive  = "inactive"
	outcomeLeftOut   = "left out"
	outcomeUndecided = "undecided"
	outcomeDoubtful  = "not created before another object is decided"
)

// want returns the outcome of an object according to docs/dependents/conditions.md.
func (g randomGraph) want(i int) string {
	switch n := g[i]; {
	case (g.isExcluded(i) || g.isInactive(i)) && n.observed:
		return outcomeReleased
	case g.isExcluded(i):
		return outcomeDeleted
	case g.isInactive(i) && !n.recorded:
		return outcomeLeftOut
	case g.isInactive(i):
		return outcomeInactive
	case g.isUndecided(i):
		return outcomeUndecided
	case g.isDoubtful(i):
		return outcomeDoubtful
	}
	return outcomeApplied
}

// got returns the outcome of an object in a decision.
func (g randomGraph) got(d inclusion.Decision, i int) string {
	deleted, isExcluded := d.Excluded[g.key(i)]
	at := slices.IndexFunc(d.Desired, func(o manifests.Object) bool { return o.Key == g.key(i) })
	switch {
	case isExcluded && at >= 0:
		return "desired and excluded"
	case isExcluded && deleted:
		return outcomeDeleted
	case isExcluded:
		return outcomeReleased
	case at < 0:
		return outcomeLeftOut
	}
	switch o := d.Desired[at]; {
	case o.Held != nil && o.Undecided != nil:
		return "held and doubtful"
	case o.Held != nil && o.Held.Undecided == "":
		return outcomeInactive
	case o.Held != nil:
		return outcomeUndecided
	case o.Undecided != nil && !slices.Contains(g.undecidedBelow(i), o.Undecided.Name):
		return "waits for " + o.Undecided.String() + ", which does not matter"
	case o.Undecided != nil:
		return outcomeDoubtful
	}
	return outcomeApplied
}

// wantReports returns the first objects of a set that are left out, with the reasons.
func (g randomGraph) wantReports(order []int) (reports []string) {
	for _, i := range order {
		switch {
		case len(reports) == 10:
		case g.isExcluded(i):
			reports = append(reports, g.key(i).String()+" "+inclusion.ReasonExcluded)
		case g.isInactive(i):
			reports = append(reports, g.key(i).String()+" "+inclusion.ReasonInactive)
		}
	}
	return reports
}

func (g randomGraph) String() string {
	var b strings.Builder
	for i, n := range g {
		fmt.Fprintf(&b, "%s: include-when %s %q, active-when %s %q, depends on %q, binds %v", g.key(i).Name,
			n.include, n.includeText, n.active, n.activeText, g.dependsOn(i), n.bound)
		fmt.Fprintf(&b, ", in the group %v, recorded %v, observed %v\n", n.inGroup, n.recorded, n.observed)
	}
	return b.String()
}

// TestDecideOnRandomGraphs compares the decisions about random graphs with their definition: an object is excluded or
// inactive only if a condition is false, its own or that of an object that it depends on or whose value it binds.
// Missing values, errors, optional dependencies and groups exclude nothing. An object whose condition has no value is
// undecided. Objects that depend on it, and that nothing else leaves out, are not created before it is decided. All
// others are applied.
func TestDecideOnRandomGraphs(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(graphsTried) {
		random := rand.New(rand.NewPCG(seed, 0))
		g := newRandomGraph(random)
		order := random.Perm(len(g))
		recorded := map[manifests.Key]bool{}
		var set []manifests.Object
		for _, i := range order {
			o, err := g.object(i)
			if err != nil {
				t.Fatal(err)
			}
			set, recorded[o.Key] = append(set, o), g[i].recorded
		}
		d := inclusion.Decide(t.Context(), set, randomInputs(func(k manifests.Key) bool { return recorded[k] }))
		for i := range g {
			got, want := g.got(d, i), g.want(i)
			seen[want]++
			if got != want {
				t.Fatalf("seed %d: %s: got %q, want %q\n%s", seed, g.key(i).Name, got, want, g)
			}
		}
		var reports []string
		for _, r := range d.LeftOut {
			reports = append(reports, r.Dependent+" "+r.Reason)
		}
		if want := g.wantReports(order); !slices.Equal(reports, want) {
			t.Fatalf("seed %d: the reports are %q, want %q\n%s", seed, reports, want, g)
		}
	}
	for _, outcome := range []string{
		outcomeApplied, outcomeDeleted, outcomeReleased, outcomeInactive, outcomeLeftOut, outcomeUndecided, outcomeDoubtful,
	} {
		if seen[outcome] < leastSeen {
			t.Errorf("%d objects are %s, want at least %d", seen[outcome], outcome, leastSeen)
		}
	}
	t.Logf("objects by outcome: %v", seen)
}
