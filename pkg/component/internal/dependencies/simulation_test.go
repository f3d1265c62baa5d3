package dependencies

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// simulation is a cluster, an operator with an informer that lags, and users. Passes consist of steps, and all steps
// happen in a random order.
type simulation struct {
	t      *testing.T
	random *rand.Rand
	graph  *Graph
	all    []types.NamespacedName
	// edges are those that each component has when it is created. A user may only drop them.
	edges   map[types.NamespacedName][]Edge
	version int
	// stored are the components in the cluster.
	stored map[types.NamespacedName]*storedComponent
	// cached are the components in the cache of the operator, and written its own writes.
	cached, written map[types.NamespacedName]storedComponent
	// toCache are changes that the cache does not contain yet, and toGraph those that the Graph does not contain yet.
	toCache, toGraph []func()
	queue            names
	passes           map[types.NamespacedName]step
}

// storedComponent is an object in the cluster. Its generation is that of its Health.
type storedComponent struct {
	node Node
	// hasDependents is set if dependents exist. They were created with the edges applied.
	hasDependents bool
	applied       []types.NamespacedName
}

// step is the rest of a pass. It returns what is left, nil at the end.
type step func() step

func newSimulation(t *testing.T, seed uint64, cyclic bool) *simulation {
	s := &simulation{
		t: t, random: rand.New(rand.NewPCG(seed, 2)), edges: map[types.NamespacedName][]Edge{},
		stored: map[types.NamespacedName]*storedComponent{},
	}
	size := 3 + s.random.IntN(6)
	for i := range size {
		s.all = append(s.all, componentName(i))
	}
	for i := range size {
		for range s.random.IntN(3) {
			if on := s.random.IntN(size); cyclic || on < i {
				s.edges[s.all[i]] = append(s.edges[s.all[i]], Edge{s.all[on], DependsOn, true})
			}
		}
	}
	s.restart()
	return s
}

// restart begins a new process. It lists all components, and passes may begin before the Graph knows them.
func (s *simulation) restart() {
	s.graph = New(func(name types.NamespacedName) { s.queue.add(name) })
	s.cached, s.written = map[types.NamespacedName]storedComponent{}, map[types.NamespacedName]storedComponent{}
	s.toCache, s.toGraph = nil, nil
	s.queue, s.passes = names{}, map[types.NamespacedName]step{}
	for _, i := range s.random.Perm(len(s.all)) {
		name := s.all[i]
		if c, exists := s.stored[name]; exists {
			listed := *c
			s.cached[name] = listed
			s.queue.add(name)
			s.toGraph = append(s.toGraph, func() { s.graph.Put(name, listed.node) })
		}
	}
	s.toGraph = append(s.toGraph, s.graph.Complete)
}

// changed sends the stored version of a component to the operator.
func (s *simulation) changed(name types.NamespacedName, needsPass bool) {
	s.version++
	now, exists := s.stored[name]
	if exists {
		now.node.Version = strconv.Itoa(s.version)
	}
	var version storedComponent
	if exists {
		version = *now
	}
	s.toCache = append(s.toCache, func() {
		before, known := s.cached[name]
		if exists {
			s.cached[name] = version
		} else {
			delete(s.cached, name)
		}
		if needsPass {
			s.queue.add(name)
		}
		s.toGraph = append(s.toGraph, func() {
			switch {
			case exists:
				s.graph.Put(name, version.node)
			case known:
				s.graph.Remove(name, before.node.UID)
			}
		})
	})
}

// user makes a random change.
func (s *simulation) user(name types.NamespacedName) {
	c, exists := s.stored[name]
	switch action := s.random.IntN(6); {
	case !exists:
		s.stored[name] = &storedComponent{node: Node{
			UID: types.UID(strconv.Itoa(s.version)), Edges: s.edges[name], Health: Health{Generation: 1},
		}}
		s.changed(name, true)
	case action == 0:
		s.delete(name)
	case action == 1 && len(c.node.Edges) > 0 && s.random.IntN(3) == 0:
		c.node.Edges = slices.Delete(slices.Clone(c.node.Edges), 0, 1)
		s.changed(name, true)
	case action == 2 && !c.node.Deleting:
		c.node.Health.Generation++
		s.changed(name, true)
	}
}

// delete deletes a component. It has a finalizer as soon as it has recorded dependents.
func (s *simulation) delete(name types.NamespacedName) {
	c, exists := s.stored[name]
	switch {
	case !exists || c.node.Deleting:
		return
	case c.node.Holds:
		c.node.Deleting = true
	default:
		delete(s.stored, name)
	}
	s.changed(name, true)
}

// load returns the newest version that the operator knows.
func (s *simulation) load(name types.NamespacedName) (storedComponent, bool) {
	cached, exists := s.cached[name]
	if written, ok := s.written[name]; ok && exists && isOlder(cached.node.Version, written.node.Version) {
		return written, true
	}
	return cached, exists
}

// begin begins a pass.
func (s *simulation) begin(name types.NamespacedName) step {
	c, exists := s.load(name)
	if !exists {
		return func() step {
			s.graph.Forget(name)
			return nil
		}
	}
	return func() step {
		s.graph.Enter(name, c.node)
		switch {
		case c.node.Deleting:
			return func() step { return s.deletion(name, c) }
		case c.node.Holds && c.node.Health.ObservedGeneration == c.node.Health.Generation:
			return nil
		}
		return func() step { return s.application(name, c) }
	}
}

// application applies new inputs.
func (s *simulation) application(name types.NamespacedName, c storedComponent) step {
	uid := c.node.UID
	if s.random.IntN(2) == 0 && !s.graph.Follow(name, uid).Permits() {
		return nil
	}
	return func() step {
		if !s.graph.Begin(name, uid).Permits() {
			return nil
		}
		return func() step {
			if s.random.IntN(8) == 0 {
				s.queue.add(name) // The pass fails, and is retried.
				return nil
			}
			return s.write(name, c, func(c *storedComponent) { c.node.Holds = true }, func() step {
				return s.write(name, c, func(stored *storedComponent) {
					stored.hasDependents, stored.applied = true, targetsOf(c.node.Edges)
				}, func() step {
					return s.write(name, c, func(stored *storedComponent) {
						stored.node.Health = ready
						stored.node.Health.Generation = c.node.Health.Generation
						stored.node.Health.ObservedGeneration = c.node.Health.Generation
					}, nil)
				})
			})
		}
	}
}

// write changes the stored component, unless it is not the one that the pass works for, and returns the next step.
func (s *simulation) write(
	name types.NamespacedName, c storedComponent, change func(*storedComponent), next step,
) step {
	stored, exists := s.stored[name]
	if !exists || stored.node.UID != c.node.UID || stored.node.Deleting != c.node.Deleting ||
		stored.node.Health.Generation != c.node.Health.Generation {
		s.queue.add(name)
		return nil
	}
	change(stored)
	s.changed(name, false)
	s.written[name] = *stored
	return next
}

// deletion deletes the dependents.
func (s *simulation) deletion(name types.NamespacedName, c storedComponent) step {
	if c.node.Holds {
		if holders, isKnown := s.graph.Holders(name, c.node.UID, false); !isKnown || len(holders) > 0 {
			return nil
		}
		s.checkOrder(name)
	}
	return func() step {
		return s.write(name, c, func(c *storedComponent) { c.hasDependents = false }, func() step {
			return s.write(name, c, func(c *storedComponent) { c.node.Holds = false }, func() step {
				delete(s.stored, name)
				s.changed(name, true)
				return nil
			})
		})
	}
}

// checkOrder checks that nothing depends on a component whose dependents are going to be deleted: no component that was
// applied with an edge to it, and still has the edge. In a cycle of edges, such a component must be going, too.
func (s *simulation) checkOrder(name types.NamespacedName) {
	if c, exists := s.stored[name]; !exists || !c.hasDependents {
		return
	}
	edges := func(v vertex) (next []vertex) {
		for _, e := range s.edges[v.name] {
			next = append(next, startOf(e.On))
		}
		return next
	}
	for other, c := range s.stored {
		if other == name || !c.hasDependents || !slices.Contains(c.applied, name) ||
			!slices.Contains(targetsOf(c.node.Edges), name) {
			continue
		}
		if isInCycle := leadsTo(edges, startOf(name), startOf(other)); !isInCycle || !c.node.Deleting {
			s.t.Errorf("the dependents of %s are deleted although %s depends on it", name, other)
		}
	}
}

func targetsOf(edges []Edge) []types.NamespacedName {
	return (&component{node: Node{Edges: edges}}).targets()
}

// operate makes one step of the operator. It returns false if there is nothing to do.
func (s *simulation) operate() bool {
	var choices []func()
	if len(s.toCache) > 0 {
		choices = append(choices, func() {
			next := s.toCache[0]
			s.toCache = s.toCache[1:]
			next()
		})
	}
	if len(s.toGraph) > 0 {
		choices = append(choices, func() {
			next := s.toGraph[0]
			s.toGraph = s.toGraph[1:]
			next()
		})
	}
	for _, name := range s.all {
		_, isQueued := s.queue[name]
		rest, isRunning := s.passes[name]
		switch {
		case isRunning:
			choices = append(choices, func() {
				if rest := rest(); rest != nil {
					s.passes[name] = rest
				} else {
					delete(s.passes, name)
				}
			})
		case isQueued:
			choices = append(choices, func() {
				delete(s.queue, name)
				s.passes[name] = s.begin(name)
			})
		}
	}
	if len(choices) == 0 {
		return false
	}
	choices[s.random.IntN(len(choices))]()
	return true
}

// settle makes steps until nothing is left to do.
func (s *simulation) settle() {
	for steps := 0; s.operate(); steps++ {
		if steps > 100_000 {
			s.t.Fatal("the operator does not come to rest")
		}
	}
}

// checkRest checks that each component that has not applied its inputs waits for a dependency.
func (s *simulation) checkRest() {
	m := newModel()
	m.isComplete = true
	for name, c := range s.stored {
		m.nodes[name] = c.node
	}
	for name, c := range s.stored {
		answer := Answer{IsKnown: true, States: m.states(name)}
		if !c.node.Deleting && c.node.Health.ObservedGeneration != c.node.Health.Generation && answer.Permits() {
			s.t.Errorf("%s has not applied its inputs, although its dependencies are ready", name)
		}
		if c.node.Deleting && len(m.holders(name, false)) == 0 {
			s.t.Errorf("%s is not deleted, although nothing holds it", name)
		}
	}
}

// Users change components at random, and the operator learns of this late. No component loses a dependency that it was
// applied with, no pass is missing in the end, and if all components are deleted, all of them go.
func TestSimulation(t *testing.T) {
	seeds := uint64(4000)
	if testing.Short() {
		seeds = 400
	}
	for seed := range seeds {
		s := newSimulation(t, seed, seed%2 == 1)
		for range 300 {
			switch s.random.IntN(40) {
			case 0:
				if s.random.IntN(4) == 0 {
					s.restart()
				}
			case 1, 2, 3, 4, 5:
				s.user(s.all[s.random.IntN(len(s.all))])
			default:
				s.operate()
			}
		}
		s.settle()
		s.checkRest()
		for _, i := range s.random.Perm(len(s.all)) {
			s.delete(s.all[i])
			for range s.random.IntN(10) {
				s.operate()
			}
		}
		s.settle()
		if len(s.stored) > 0 {
			t.Errorf("%d components are left", len(s.stored))
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
