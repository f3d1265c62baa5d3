package dependencies

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// model answers as a Graph does, from the facts and by searches without memory.
type model struct {
	nodes    map[types.NamespacedName]Node
	children map[types.NamespacedName][]types.NamespacedName
	// began, deleting and goes are the marks of Begin and Holders.
	began, deleting, goes map[types.NamespacedName]bool
	isComplete            bool
}

func newModel() *model {
	return &model{
		nodes: map[types.NamespacedName]Node{}, children: map[types.NamespacedName][]types.NamespacedName{},
		began: map[types.NamespacedName]bool{}, deleting: map[types.NamespacedName]bool{},
		goes: map[types.NamespacedName]bool{},
	}
}

func (m *model) remove(name types.NamespacedName) {
	delete(m.nodes, name)
	delete(m.children, name)
	delete(m.began, name)
	delete(m.deleting, name)
	delete(m.goes, name)
}

func (m *model) exists(name types.NamespacedName) bool {
	_, exists := m.nodes[name]
	return exists
}

func (m *model) isDeleting(name types.NamespacedName) bool {
	return m.nodes[name].Deleting || m.deleting[name]
}

func (m *model) allows(from, to types.NamespacedName) bool {
	return from.Namespace == to.Namespace || slices.Contains(m.nodes[to].Allows, from.Namespace)
}

// parents returns the existing components that have a component among their children.
func (m *model) parents(name types.NamespacedName) []types.NamespacedName {
	var parents []types.NamespacedName
	for parent, children := range m.children {
		if slices.Contains(children, name) {
			parents = append(parents, parent)
		}
	}
	return parents
}

// needs is the graph of new inputs.
func (m *model) needs(v vertex) (next []vertex) {
	if !m.exists(v.name) {
		return nil
	}
	if v.isEnd {
		next = append(next, vertex{v.name, false})
		for _, child := range m.children[v.name] {
			next = append(next, vertex{child, true})
		}
		return next
	}
	for _, e := range m.nodes[v.name].Edges {
		if m.allows(v.name, e.On) {
			next = append(next, vertex{e.On, e.Kind == DependsOn})
		}
	}
	for _, parent := range m.parents(v.name) {
		next = append(next, vertex{parent, false})
	}
	return next
}

// goesAfter is the graph of deletions.
func (m *model) goesAfter(v vertex) (next []vertex) {
	if !m.exists(v.name) {
		return nil
	}
	if v.isEnd {
		next = append(next, vertex{v.name, false})
		for _, child := range m.children[v.name] {
			next = append(next, vertex{child, true})
		}
		return next
	}
	for other := range m.nodes {
		if m.holds(other, v.name) {
			next = append(next, vertex{other, true})
		}
	}
	if !m.isDeleting(v.name) {
		for _, parent := range m.parents(v.name) {
			if m.ends(parent, 0) {
				next = append(next, vertex{parent, false})
			}
		}
	}
	return next
}

func (m *model) holds(holder, name types.NamespacedName) bool {
	return holder != name && (m.nodes[holder].Holds || m.began[holder]) && m.allows(holder, name) &&
		slices.ContainsFunc(m.nodes[holder].Edges, func(e Edge) bool { return e.On == name && e.Blocks })
}

// ends reports whether a component or one of its parents is being deleted. depth bounds the search.
func (m *model) ends(name types.NamespacedName, depth int) bool {
	if !m.exists(name) || depth > len(m.nodes) {
		return false
	}
	return m.isDeleting(name) || slices.ContainsFunc(m.parents(name), func(parent types.NamespacedName) bool {
		return m.ends(parent, depth+1)
	})
}

// states returns what Follow must return.
func (m *model) states(name types.NamespacedName) []State {
	states := []State{}
	for _, e := range m.nodes[name].Edges {
		on, exists := m.nodes[e.On]
		s := State{Edge: e, Cause: Ready}
		if !m.allows(name, e.On) {
			states = append(states, State{Edge: e, Cause: NotAllowed})
			continue
		}
		if e.Kind == DependsOn {
			s.Applied, s.Suspended = on.Health.Applied, on.Health.Suspended
		}
		target := vertex{e.On, e.Kind == DependsOn}
		switch {
		case exists && leadsTo(m.needs, target, vertex{name, false}):
			s.Cause = InCycle
		case e.Kind == Exports:
			if e.Blocks && exists && m.isDeleting(e.On) {
				s.Cause = BeingDeleted
			}
		case !exists:
			s.Cause = Absent
		case m.isDeleting(e.On):
			s.Cause = BeingDeleted
		case !on.Health.ready():
			s.Cause = NotReady
		}
		states = append(states, s)
	}
	return states
}

// holders returns what Holders must return, for a deletion that has not begun.
func (m *model) holders(name types.NamespacedName, namespaceGoes bool) []Holder {
	var holders []Holder
	for other := range m.nodes {
		if !m.holds(other, name) || m.isCut(other, name) {
			continue
		}
		ends := m.ends(other, 0)
		if namespaceGoes && (!m.nodes[name].Elsewhere || !ends && other.Namespace != name.Namespace) {
			continue
		}
		i := slices.IndexFunc(m.nodes[other].Edges, func(e Edge) bool { return e.On == name && e.Blocks })
		holders = append(holders, Holder{other, m.nodes[other].Edges[i].Kind, ends})
	}
	slices.SortFunc(holders, func(a, b Holder) int { return compareNames(a.Name, b.Name) })
	return holders
}

// isCut reports whether a holder and a component wait for each other, and all that wait for each other with them end.
func (m *model) isCut(holder, name types.NamespacedName) bool {
	start, end := vertex{name, false}, vertex{holder, true}
	if !leadsTo(m.goesAfter, end, start) {
		return false
	}
	for other := range m.nodes {
		for _, v := range []vertex{{other, false}, {other, true}} {
			if leadsTo(m.goesAfter, start, v) && leadsTo(m.goesAfter, v, start) && !m.ends(other, 0) {
				return false
			}
		}
	}
	return true
}

// told is what a component waits for, with the answer that its last pass got.
type told struct {
	Answer
	isDeletion, namespaceGoes, isHeld bool
	// open are the holders that do not end.
	open []types.NamespacedName
}

// now returns what a component would be told now.
func (m *model) now(name types.NamespacedName, t told) told {
	now := told{isDeletion: t.isDeletion, namespaceGoes: t.namespaceGoes}
	switch {
	case !m.isComplete:
		return now
	case !t.isDeletion:
		now.Answer = Answer{true, m.states(name)}
		return now
	}
	now.IsKnown = true
	for _, h := range m.holders(name, t.namespaceGoes) {
		if now.isHeld = true; !h.Ends {
			now.open = append(now.open, h.Name)
		}
	}
	return now
}

// needsPass reports whether a component needs a pass.
func (t told) needsPass(now told) bool {
	if t.IsKnown != now.IsKnown || t.isHeld != now.isHeld || (len(t.open) == 0) != (len(now.open) == 0) {
		return true
	}
	if t.isDeletion {
		isOpen := func(name types.NamespacedName) bool { return slices.Contains(now.open, name) }
		return len(t.open) > 0 && !slices.ContainsFunc(t.open[:min(3, len(t.open))], isOpen)
	}
	return t.Answer.needsPass(now.Answer)
}

// comparison makes the same random calls of a Graph and of a model.
type comparison struct {
	*model
	t       *testing.T
	random  *rand.Rand
	graph   *Graph
	all     []types.NamespacedName
	version int
	// waiting are the components that wait. woken are the passes that the Graph started during a call, and wanted those
	// that the call must start in any case.
	waiting       map[types.NamespacedName]told
	woken, wanted names
	log           []string
}

// After each of many random calls, the answers of a Graph are those of the model, and passes were started over exactly
// the components that need one.
func TestGraphEqualsModel(t *testing.T) {
	seeds := uint64(3000)
	if testing.Short() {
		seeds = 400
	}
	for seed := range seeds {
		c := &comparison{
			model: newModel(), t: t, random: rand.New(rand.NewPCG(seed, 1)), waiting: map[types.NamespacedName]told{},
		}
		c.graph = New(func(name types.NamespacedName) { c.woken.add(name) })
		for i := range 2 + c.random.IntN(6) {
			name := componentName(i)
			if c.random.IntN(3) == 0 {
				name.Namespace = "blog"
			}
			c.all = append(c.all, name)
		}
		for range 60 {
			c.woken, c.wanted = names{}, names{}
			c.step(c.all[c.random.IntN(len(c.all))])
			c.check()
			if t.Failed() {
				t.Fatalf("seed %d: %q", seed, c.log)
			}
		}
	}
}

func (c *comparison) step(name types.NamespacedName) {
	c.version++
	c.log = append(c.log, fmt.Sprintf("%d %s", c.version, name))
	if !c.exists(name) {
		c.put(name, types.UID(strconv.Itoa(c.version)))
		return
	}
	uid := c.nodes[name].UID
	switch c.random.IntN(9) {
	case 0:
		c.enter(name)
		c.check()
		c.woken = names{}
		c.note("remove")
		c.remove(name)
		c.graph.Remove(name, uid)
	case 1, 2, 3:
		c.put(name, uid)
	case 4:
		c.enter(name)
		c.note("follow")
		c.expectAnswer(name, c.graph.Follow(name, uid))
		c.wait(name, told{})
	case 5:
		c.begin(name, uid)
	case 6:
		c.delete(name, uid)
	case 7:
		c.note("children")
		var children []types.NamespacedName
		for range c.random.IntN(3) {
			children = append(children, c.all[c.random.IntN(len(c.all))])
		}
		c.children[name] = children
		c.graph.SetChildren(name, uid, children)
	case 8:
		c.note("complete")
		c.isComplete = true
		c.graph.Complete()
	}
}

func (c *comparison) note(text string) { c.log = append(c.log, text) }

// put delivers random facts about a component.
func (c *comparison) put(name types.NamespacedName, uid types.UID) {
	chance := func(n int) bool { return c.random.IntN(n) == 0 }
	node := Node{
		UID: uid, Version: strconv.Itoa(c.version), Deleting: c.nodes[name].Deleting || chance(4),
		Holds: !chance(3), Elsewhere: chance(2),
	}
	if !chance(3) {
		node.Health = ready
	}
	node.Health.Suspended = chance(6)
	node.Health.Applied = []string{"a", "b"}[c.random.IntN(2)]
	if chance(2) {
		node.Allows = []string{"blog", "shop"}
	}
	for range c.random.IntN(4) {
		e := Edge{c.all[c.random.IntN(len(c.all))], DependsOn, !chance(4)}
		if chance(4) {
			e.Kind = Exports
		}
		node.Edges = append(node.Edges, e)
	}
	c.note(fmt.Sprintf("put %+v", node))
	c.nodes[name] = node
	c.graph.Put(name, node)
}

// enter begins a pass over a component.
func (c *comparison) enter(name types.NamespacedName) {
	c.note("enter")
	delete(c.waiting, name)
	delete(c.began, name)
	c.graph.Enter(name, c.nodes[name])
}

func (c *comparison) begin(name types.NamespacedName, uid types.UID) {
	c.enter(name)
	c.check()
	c.woken = names{}
	c.note("begin")
	answer := c.graph.Begin(name, uid)
	c.expectAnswer(name, answer)
	if answer.Permits() {
		c.began[name] = true
		return
	}
	c.wait(name, told{})
}

func (c *comparison) delete(name types.NamespacedName, uid types.UID) {
	c.enter(name)
	c.check()
	c.woken = names{}
	namespaceGoes := c.random.IntN(4) == 0
	c.note(fmt.Sprintf("holders %t", namespaceGoes))
	c.deleting[name] = true
	holders, isKnown := c.graph.Holders(name, uid, namespaceGoes)
	var want []Holder
	if c.isComplete && !c.goes[name] {
		want = c.holders(name, namespaceGoes)
	}
	if !slices.Equal(holders, want) || isKnown != c.isComplete {
		c.t.Errorf("the holders of %s are %v, not %v", name, holders, want)
	}
	if isKnown && len(want) == 0 {
		c.goes[name] = true
		return
	}
	for _, h := range want {
		if !c.nodes[h.Name].Holds {
			c.wanted.add(h.Name)
		}
	}
	c.wait(name, told{isDeletion: true, namespaceGoes: namespaceGoes})
}

func (c *comparison) wait(name types.NamespacedName, t told) { c.waiting[name] = c.now(name, t) }

func (c *comparison) expectAnswer(name types.NamespacedName, got Answer) {
	want := c.now(name, told{})
	if got.IsKnown != want.IsKnown || !slices.Equal(got.States, want.States) {
		c.t.Errorf("the answer for %s is %+v, not %+v", name, got, want)
	}
}

// check compares the passes that were started with the answers that have changed.
func (c *comparison) check() {
	for name, t := range c.waiting {
		if now := c.now(name, t); t.needsPass(now) {
			c.wanted.add(name)
			c.waiting[name] = now
		}
	}
	if !slices.Equal(c.woken.sorted(), c.wanted.sorted()) {
		c.t.Errorf("passes were started over %v, not %v", c.woken.sorted(), c.wanted.sorted())
	}
	c.wanted = names{}
}
