package dependencies

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestAComponentWaits(t *testing.T) {
	f := newFixture(t, "web ->db ~>cache", "db", "cache", "api ->db", "reader ~>db", "idle ->db")
	expect(t, "web waits for", f.waitFor("web"), []string{"db NotReady", "cache Ready"})
	expect(t, "api waits for", f.waitFor("api"), []string{"db NotReady"})
	expect(t, "reader waits for", f.waitFor("reader"), []string{"db Ready"})
	if f.begin("web").Permits() {
		t.Error("web began although db is not ready")
	}
	f.put("db has")
	f.put("cache ready")
	f.expectWoken()
	f.put("db has ready")
	f.expectWoken("api", "web")
	if !f.begin("web").Permits() {
		t.Error("web did not begin although db is ready")
	}
	f.put("db has")
	f.expectWoken("api")
	f.enter("api")
	f.put("db has ready")
	f.expectWoken()
}

func TestAComponentWithoutDependenciesBegins(t *testing.T) {
	f := newFixture(t, "web")
	if answer := f.begin("web"); !answer.Permits() || len(answer.States) != 0 {
		t.Errorf("the answer is %+v", answer)
	}
}

func TestWhatIsAppliedIsAPartOfTheState(t *testing.T) {
	f := newFixture(t, "web ->db")
	name, node, _ := parse(t, "db ready")
	for i, c := range []struct {
		applied string
		woken   []string
	}{{"a", split("web")}, {"a", nil}, {"b", split("web")}} {
		f.enter("web")
		f.Follow(named("web"), "web")
		node.Version, node.Health.Applied = strconv.Itoa(10+i), c.applied
		node.Health.Generation, node.Health.ObservedGeneration = int64(i), int64(i)
		f.Put(name, node)
		f.expectWoken(c.woken...)
	}
}

// Before all components are known, nothing begins and nothing is deleted. Then all that wait are started.
func TestComplete(t *testing.T) {
	f := &fixture{t: t}
	f.Graph = New(func(name types.NamespacedName) { f.woken = append(f.woken, name) })
	f.put("db has deleting")
	f.put("web ->cache")
	f.put("cache ready")
	f.put("other")
	expect(t, "db has the holders", f.holdersOf("db", false), []string{"not known"})
	if answer := f.begin("web"); answer.IsKnown || answer.Permits() {
		t.Errorf("the answer is %+v", answer)
	}
	f.put("api has ->db")
	f.expectWoken()
	f.Complete()
	f.expectWoken("db", "web")
	expect(t, "db has the holders", f.holdersOf("db", false), []string{"api!"})
	if !f.begin("web").Permits() {
		t.Error("web did not begin")
	}
}

// A component that began to apply inputs holds its dependencies before the informer delivers its dependents.
func TestBegan(t *testing.T) {
	deleting := func(t *testing.T) *fixture {
		f := newFixture(t, "db ready has", "web ->db")
		if !f.begin("web").Permits() {
			t.Fatal("web did not begin")
		}
		f.put("db ready has deleting")
		expect(t, "db has the holders", f.holdersOf("db", false), []string{"web!"})
		f.expectWoken("web")
		return f
	}
	t.Run("versions that were written before the record release nothing", func(t *testing.T) {
		f := deleting(t)
		f.put("web ->db")
		f.expectWoken()
		f.put("web has ->db")
		f.enter("web")
		f.expectWoken()
		expect(t, "db has the holders", f.holdersOf("db", false), []string{"web!"})
		f.expectWoken()
	})
	t.Run("a pass that failed before the record", func(t *testing.T) {
		f := deleting(t)
		f.enter("web")
		f.expectWoken("db")
		expect(t, "web waits for", f.waitFor("web"), []string{"db BeingDeleted"})
		if f.begin("web").Permits() {
			t.Error("web began beside the deletion of db")
		}
		expect(t, "db has the holders", f.holdersOf("db", false), nil)
	})
	t.Run("a component that was removed by force", func(t *testing.T) {
		f := deleting(t)
		f.Remove(named("web"), "web")
		f.expectWoken("db")
		expect(t, "db has the holders", f.holdersOf("db", false), []string{"web"})
		f.takeWoken()
		f.Forget(named("web"))
		f.expectWoken("db")
		expect(t, "db has the holders", f.holdersOf("db", false), nil)
	})
	t.Run("a component whose work was forgotten before its removal was delivered", func(t *testing.T) {
		f := deleting(t)
		f.Forget(named("web"))
		f.expectWoken("db")
		f.Remove(named("web"), "web")
		f.expectWoken()
		expect(t, "the Graph has", textsOf(f.names()), []string{"db"})
	})
}

func (f *fixture) names() []types.NamespacedName {
	all := names{}
	for name := range f.answers.components {
		all.add(name)
	}
	return all.sorted()
}

func TestADeletionAndABeginningExcludeEachOther(t *testing.T) {
	t.Run("the beginning is first", func(t *testing.T) {
		f := newFixture(t, "db ready has", "web ->db")
		if !f.begin("web").Permits() {
			t.Error("web did not begin")
		}
		expect(t, "db has the holders", f.holdersOf("db", false), []string{"web!"})
	})
	t.Run("the deletion is first, and the informer has not delivered it", func(t *testing.T) {
		f := newFixture(t, "db ready has", "web ->db", "reader !>db")
		expect(t, "db has the holders", f.holdersOf("db", false), nil)
		for _, name := range []string{"web", "reader"} {
			if answer := f.begin(name); answer.Permits() || answer.States[0].Cause != BeingDeleted {
				t.Errorf("the answer for %s is %+v", name, answer)
			}
		}
	})
}

func TestOrderOfVersions(t *testing.T) {
	web := named("web")
	node := func(uid types.UID, version string, edges ...string) Node {
		n := Node{UID: uid, Version: version}
		for _, on := range edges {
			n.Edges = append(n.Edges, Edge{On: named(on), Kind: DependsOn})
		}
		return n
	}
	for _, c := range []struct {
		name  string
		enter func(g *Graph)
		// want are the dependencies in the end, and nil if the component is not in the Graph.
		want []string
	}{
		{"the informer delivers an older version than a pass entered", func(g *Graph) {
			g.Enter(web, node("1", "20", "db"))
			g.Put(web, node("1", "9"))
		}, split("db")},
		{"the informer delivers a newer version", func(g *Graph) {
			g.Enter(web, node("1", "20", "db"))
			g.Put(web, node("1", "21", "cache"))
		}, split("cache")},
		{"a pass enters an older version than the informer delivered", func(g *Graph) {
			g.Put(web, node("1", "21", "cache"))
			g.Enter(web, node("1", "20", "db"))
		}, split("cache")},
		{"a pass enters its own write", func(g *Graph) {
			g.Put(web, node("1", "20", "db"))
			g.Enter(web, node("1", "21", "cache"))
			g.Put(web, node("1", "20", "db"))
		}, split("cache")},
		{"versions cannot be compared", func(g *Graph) {
			g.Enter(web, node("1", "b", "db"))
			g.Put(web, node("1", "a", "cache"))
		}, split("cache")},
		{"a component that was created again, entered first", func(g *Graph) {
			g.Put(web, node("1", "20", "db"))
			g.Enter(web, node("2", "30", "cache"))
			g.Put(web, node("1", "21", "db"))
			g.Remove(web, "1")
		}, split("cache")},
		{"a pass over the previous component enters it late", func(g *Graph) {
			g.Put(web, node("2", "30", "cache"))
			g.Enter(web, node("1", "20", "db"))
		}, split("cache")},
		{"a pass enters a component that was deleted, and the next pass does not find it", func(g *Graph) {
			g.Put(web, node("1", "20", "db"))
			g.Remove(web, "1")
			g.Enter(web, node("1", "20", "db"))
			g.Forget(web)
		}, nil},
		{"a component is created again before it is forgotten", func(g *Graph) {
			g.Remove(web, "1")
			g.Put(web, node("2", "30", "cache"))
			g.Forget(web)
		}, split("cache")},
		{"an unknown deletion of a previous component", func(g *Graph) {
			g.Put(web, node("2", "30", "cache"))
			g.Remove(web, "1")
		}, split("cache")},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := New(func(types.NamespacedName) {})
			c.enter(g)
			var got []string
			if known, found := g.answers.components[web]; found {
				got = textsOf(known.targets())
			}
			expect(t, "the dependencies are", got, c.want)
		})
	}
}

func TestAPassOverAPreviousComponentEnds(t *testing.T) {
	f := newFixture(t, "web ->db", "db has ready")
	if f.Follow(named("web"), "previous").IsKnown || f.Begin(named("web"), "previous").Permits() ||
		f.Begin(named("absent"), "").IsKnown {
		t.Error("a pass over a previous component may go on")
	}
	f.SetChildren(named("web"), "previous", []types.NamespacedName{named("db")})
	if holders, isKnown := f.Holders(named("db"), "previous", false); isKnown || holders != nil {
		t.Errorf("the holders of a previous component are %v", holders)
	}
	if states := f.Follow(named("web"), "web").States; !slices.ContainsFunc(states, State.Permits) {
		t.Errorf("the states are %+v", states)
	}
}

func TestAnAnswerNeedsAPass(t *testing.T) {
	states := func(causes ...Cause) Answer {
		a := Answer{IsKnown: true}
		for _, cause := range causes {
			a.States = append(a.States, State{Cause: cause})
		}
		return a
	}
	applied, other := states(Ready), states(NotReady)
	applied.States[0].Applied, other.States[0].Edge.On = "b", named("cache")
	for _, c := range []struct {
		name      string
		told, now Answer
		want      bool
	}{
		{"nothing changed", states(NotReady, Ready), states(NotReady, Ready), false},
		{"all are ready", states(NotReady, Ready), states(Ready, Ready), true},
		{"one of two is ready", states(NotReady, NotReady), states(Ready, NotReady), false},
		{"one is not ready any more", states(Ready, NotReady), states(NotReady, NotReady), true},
		{"none is ready any more", states(Ready), states(NotReady), true},
		{"another cause", states(Absent, NotReady), states(NotReady, NotReady), true},
		{"another content is applied", states(Ready), applied, true},
		{"another edge", states(NotReady), other, true},
		{"another number of edges", states(NotReady), states(NotReady, Ready), true},
		{"the components are known", Answer{}, states(NotReady), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.told.needsPass(c.now); got != c.want {
				t.Errorf("needsPass returned %t", got)
			}
		})
	}
}

func TestHoldersNeedAPass(t *testing.T) {
	holders := func(text string) (all []Holder) {
		for _, word := range split(text) {
			name, isOpen := strings.CutSuffix(word, "!")
			all = append(all, Holder{Name: named(name), Ends: !isOpen})
		}
		return all
	}
	for _, c := range []struct {
		name string
		// told and now are the holders. Those that do not end have an exclamation mark.
		told, now string
		want      bool
	}{
		{"the same", "a! b", "a! b", false},
		{"none any more", "a", "", true},
		{"none still", "", "", false},
		{"one of two that end was deleted", "a b", "b", false},
		{"one of two ends", "a! b!", "a b!", false},
		{"all end", "a!", "a", true},
		{"one does not end", "a", "a b!", true},
		{"another one does not end either", "b!", "a! b!", false},
		{"the named ones end, and others do not", "a! b! c! d!", "a b c d!", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &held{}
			h.replace(holders(c.told))
			h.tell()
			h.replace(holders(c.now))
			if got := h.needsPass(); got != c.want {
				t.Errorf("needsPass returned %t", got)
			}
			h.tell()
			if h.needsPass() {
				t.Error("it needs a second pass")
			}
		})
	}
}
