package plan

import (
	"maps"
	"slices"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/depgraph"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/internal/typeset"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// removalGraph contains the dependencies between the recorded objects of a removal. An object is removed when no object
// that depends on it exists any more. The nodes of the graph are the objects, followed by the groups: an object that
// depends on a group has an edge to the group, and the group has an edge to each member, so the number of edges is
// linear in the size of the record. A nil graph contains no dependencies.
type removalGraph struct {
	entries []metav1alpha1.InventoryEntry
	index   map[manifests.Key]int
	// edges lead from each node to the nodes that it depends on.
	edges [][]int
	// dependents is the number of nodes that depend on a node and are not released.
	dependents []int
	// order contains all nodes, each before the nodes that it depends on.
	order    []int
	released []bool
}

// dependsOnOthers reports whether a recorded object is removed by its dependencies instead of its wave. Dependencies of
// an object that contains or defines others are ignored, because such an object is always removed last.
func dependsOnOthers(e metav1alpha1.InventoryEntry) bool {
	return e.DependsOn != "" && len(e.Types) == 0 && !IsNamespace(KeyOf(e)) && !IsDefinition(KeyOf(e))
}

// newRemovalGraph returns the graph of the objects of a removal, and nil if no object depends on others.
func newRemovalGraph(removals []metav1alpha1.InventoryEntry) *removalGraph {
	if !slices.ContainsFunc(removals, dependsOnOthers) {
		return nil
	}
	entries := slices.Clone(removals)
	slices.SortFunc(entries, func(a, b metav1alpha1.InventoryEntry) int { return KeyOf(a).Compare(KeyOf(b)) })
	g := &removalGraph{
		entries: entries,
		index:   make(map[manifests.Key]int, len(entries)),
		edges:   make([][]int, len(entries)),
	}
	members := map[string][]int{}
	for i, e := range entries {
		g.index[KeyOf(e)] = i
		if e.DependencyGroup != "" {
			members[e.DependencyGroup] = append(members[e.DependencyGroup], i)
		}
	}
	groups := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		groups[name] = len(g.edges)
		g.edges = append(g.edges, members[name])
	}
	for i, e := range entries {
		if dependsOnOthers(e) {
			g.edges[i] = g.edgesOf(e, groups)
		}
	}
	g.sort()
	return g
}

// edgesOf returns the nodes that a recorded object depends on. Objects that are not to be removed are left out, and so
// are dependencies that cannot be parsed.
func (g *removalGraph) edgesOf(e metav1alpha1.InventoryEntry, groups map[string]int) []int {
	parsed, err := settingtext.ParseDependencies(e.DependsOn)
	if err != nil {
		return nil
	}
	var edges []int
	for _, d := range parsed {
		if group, known := groups[d.Group]; known {
			edges = append(edges, group)
		}
		for _, key := range d.In(e.Namespace) {
			if i, known := g.index[key]; known && key != KeyOf(e) {
				edges = append(edges, i)
			}
		}
	}
	slices.Sort(edges)
	return slices.Compact(edges)
}

// sort computes the order. Edges inside cycles are removed: the objects of a cycle are removed together. A set with a
// cycle is never applied, but annotations of live objects can be edited before a lost record is rebuilt from them.
func (g *removalGraph) sort() {
	first, rest := depgraph.Topological(transposed(g.edges))
	inside := within(g.edges, rest)
	last, cycles := depgraph.Topological(inside)
	remains := asSet(len(g.edges), rest)
	last = slices.DeleteFunc(last, func(i int) bool { return !remains[i] })
	slices.Reverse(last)
	cyclic := asSet(len(g.edges), cycles)
	for _, i := range cycles {
		g.edges[i] = slices.DeleteFunc(g.edges[i], func(j int) bool { return cyclic[j] })
	}
	g.order = slices.Concat(first, cycles, last)
	g.dependents, g.released = make([]int, len(g.edges)), make([]bool, len(g.edges))
	for _, edges := range g.edges {
		for _, j := range edges {
			g.dependents[j]++
		}
	}
}

// transposed returns the edges in the opposite direction.
func transposed(edges [][]int) [][]int {
	opposite := make([][]int, len(edges))
	for i, to := range edges {
		for _, j := range to {
			opposite[j] = append(opposite[j], i)
		}
	}
	return opposite
}

// within returns the edges between the given nodes.
func within(edges [][]int, nodes []int) [][]int {
	inside, found := asSet(len(edges), nodes), make([][]int, len(edges))
	for _, i := range nodes {
		found[i] = slices.DeleteFunc(slices.Clone(edges[i]), func(j int) bool { return !inside[j] })
	}
	return found
}

func asSet(size int, nodes []int) []bool {
	set := make([]bool, size)
	for _, i := range nodes {
		set[i] = true
	}
	return set
}

// holds reports whether an object must not be removed yet, because an object that depends on it exists.
func (g *removalGraph) holds(key manifests.Key) bool {
	if g == nil {
		return false
	}
	i, known := g.index[key]
	return known && g.dependents[i] > 0
}

// release notes that the object of a node no longer exists, so that the nodes that it depends on do not wait for it.
func (g *removalGraph) release(i int) {
	if g.released[i] {
		return
	}
	g.released[i] = true
	for _, j := range g.edges[i] {
		g.dependents[j]--
	}
}

// above reports for each node whether it depends on one of the given nodes, directly or not. The given nodes are
// included.
func (g *removalGraph) above(is func(metav1alpha1.InventoryEntry) bool) []bool {
	found := make([]bool, len(g.edges))
	for _, i := range slices.Backward(g.order) {
		found[i] = i < len(g.entries) && is(g.entries[i]) ||
			slices.ContainsFunc(g.edges[i], func(j int) bool { return found[j] })
	}
	return found
}

// unheld returns those of the objects on which no other object of the graph depends, directly or not. The
// given objects do not count as others.
func (g *removalGraph) unheld(objects []metav1alpha1.InventoryEntry) []metav1alpha1.InventoryEntry {
	if g == nil {
		return objects
	}
	among := make([]bool, len(g.edges))
	for _, e := range objects {
		among[g.index[KeyOf(e)]] = true
	}
	held := make([]bool, len(g.edges))
	for _, i := range g.order {
		for _, j := range g.edges[i] {
			held[j] = held[j] || held[i] || i < len(g.entries) && !among[i]
		}
	}
	return slices.DeleteFunc(objects, func(e metav1alpha1.InventoryEntry) bool { return held[g.index[KeyOf(e)]] })
}

// removeInOrder removes recorded objects in the order of a deletion. all is the graph of the removal; it may contain
// more objects than removals. removeInOrder reports whether the plan has actions, or has to wait.
//
// Objects that depend on no others are removed in steps. A step begins when the objects of the previous step no longer
// exist. Objects that depend on others belong to no step. The instances of managed types go before all other objects,
// except those that depend on an instance. Definitions and namespaces wait for all objects that depend on others.
func (p *Plan) removeInOrder(
	f Facts, g *removalGraph, removals []metav1alpha1.InventoryEntry, reason Reason,
) (waits bool) {
	if len(removals) == 0 {
		return false
	}
	types := typeset.New(append(ManagedTypes(slices.Collect(maps.Values(f.Inventory))), f.Managed...))
	if g == nil {
		p.removeSteps(f, nil, types, deleteSteps(removals, types), reason)
		return len(p.Actions) > 0 || len(p.Waiting) > 0
	}
	r := graphRemoval{plan: p, facts: f, graph: g, reason: reason, removed: map[manifests.Key]bool{}}
	var inSteps []metav1alpha1.InventoryEntry
	for _, e := range removals {
		r.removed[KeyOf(e)] = true
		if !dependsOnOthers(e) {
			inSteps = append(inSteps, e)
		}
	}
	isInstance := func(e metav1alpha1.InventoryEntry) bool {
		return deleteStepOf(KeyOf(e).GroupKind(), types) == stepInstances
	}
	steps := deleteSteps(inSteps, types)
	others := slices.IndexFunc(steps, func(step []metav1alpha1.InventoryEntry) bool { return !isInstance(step[0]) })
	if others < 0 {
		others = len(steps)
	}
	early := g.above(isInstance)
	done := r.removeNodes(func(i int) bool { return early[i] })
	if !p.removeSteps(f, g, types, steps[:others], reason) || !done {
		return len(p.Actions) > 0 || len(p.Waiting) > 0
	}
	done = r.removeNodes(func(i int) bool { return !early[i] })
	last := slices.IndexFunc(steps[others:], func(step []metav1alpha1.InventoryEntry) bool {
		return deleteStepOf(KeyOf(step[0]).GroupKind(), types) >= stepDefinitions
	})
	if last >= 0 && !done {
		steps = steps[:others+last]
	}
	p.removeSteps(f, g, types, steps[others:], reason)
	return len(p.Actions) > 0 || len(p.Waiting) > 0
}

// removeSteps removes objects step by step, and reports whether all objects no longer exist, or count as deleted.
// Definitions, roles and namespaces wait until no earlier object exists any more, because their deletion also deletes
// the objects in them, and takes rights of controllers away.
func (p *Plan) removeSteps(
	f Facts, g *removalGraph, types typeset.Set, steps [][]metav1alpha1.InventoryEntry, reason Reason,
) (done bool) {
	for _, step := range steps {
		if deleteStepOf(KeyOf(step[0]).GroupKind(), types) >= stepDefinitions && len(p.Waiting) > 0 {
			return false
		}
		if !p.removeStep(f, g, step, reason) {
			return false
		}
	}
	return true
}

// graphRemoval removes the objects that depend on others.
type graphRemoval struct {
	plan   *Plan
	facts  Facts
	graph  *removalGraph
	reason Reason
	// removed are the objects that are removed; the graph may have others.
	removed map[manifests.Key]bool
}

// removeNodes removes those of the selected nodes on which no object depends any more, and reports whether none of the
// selected objects exists.
func (r graphRemoval) removeNodes(selected func(int) bool) (done bool) {
	done = true
	for _, i := range r.graph.order {
		isGroup := i >= len(r.graph.entries)
		if !selected(i) || !isGroup && !r.removes(r.graph.entries[i]) {
			continue
		}
		switch {
		case r.graph.dependents[i] > 0:
			// The objects that depend on a group are counted themselves, if they are removed now.
			done = done && isGroup
		case isGroup || r.remove(r.graph.entries[i]):
			r.graph.release(i)
		default:
			done = false
		}
	}
	return done
}

// removes reports whether removeNodes removes an object.
func (r graphRemoval) removes(e metav1alpha1.InventoryEntry) bool {
	return dependsOnOthers(e) && r.removed[KeyOf(e)]
}

// remove removes an object, and reports whether the object no longer exists, or counts as deleted.
func (r graphRemoval) remove(e metav1alpha1.InventoryEntry) (passed bool) {
	passed, _ = r.plan.remove(newRemoval(r.facts, e, r.reason))
	return passed
}
