package dependencies

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// names is a set of components.
type names map[types.NamespacedName]struct{}

func (n names) add(name types.NamespacedName) { n[name] = struct{}{} }

// sorted returns the names in the order of their namespaces.
func (n names) sorted() []types.NamespacedName { return slices.SortedFunc(maps.Keys(n), compareNames) }

func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// index contains for each component those that name it.
type index map[types.NamespacedName]names

// replace replaces the components that a component names.
func (i index) replace(by types.NamespacedName, old, current []types.NamespacedName) {
	for _, name := range old {
		if delete(i[name], by); len(i[name]) == 0 {
			delete(i, name)
		}
	}
	for _, name := range current {
		if i[name] == nil {
			i[name] = names{}
		}
		i[name].add(by)
	}
}

// network contains all components and the edges between them.
type network struct {
	components map[types.NamespacedName]*component
	// followers are the components that have an edge to a component, and parents those that have it among their children.
	// All of them exist, but the component itself may not exist.
	followers, parents index
	// applying and deleting are the sets of the graph of new inputs and of the graph of deletions. They are nil if they
	// were not asked for since the last change of their edges.
	applying, deleting *sets
	// cut says of sets of the graph of deletions, by their numbers, whether all their components end.
	cut map[int]bool
}

func newNetwork() *network {
	return &network{components: map[types.NamespacedName]*component{}, followers: index{}, parents: index{}}
}

// put replaces a component.
func (n *network) put(name types.NamespacedName, next *component) {
	old, found := n.components[name]
	if !found {
		old = &component{}
	}
	n.followers.replace(name, old.targets(), next.targets())
	n.parents.replace(name, old.children, next.children)
	n.components[name] = next
	if !found || !next.hasEqualNeeds(old) {
		n.applying = nil
	}
	n.deleting, n.cut = nil, nil
}

// remove removes a component. The edges of other components to it stay.
func (n *network) remove(name types.NamespacedName) {
	n.put(name, &component{})
	delete(n.components, name)
}

// consents reports whether the edges from a component to another one are effective.
func (n *network) consents(name, on types.NamespacedName) bool {
	var allows []string
	if other, exists := n.components[on]; exists {
		allows = other.node.Allows
	}
	return consents(name, on, allows)
}

// states returns the states of the dependencies of a component, which must exist.
func (n *network) states(name types.NamespacedName) []State {
	edges := n.components[name].node.Edges
	states := make([]State, 0, len(edges))
	for _, e := range edges {
		s := situation{edge: e, consents: n.consents(name, e.On)}
		if on, exists := n.components[e.On]; exists && s.consents {
			s.exists, s.isDeleting, s.health = true, on.isDeleting(), on.node.Health
			s.isInCycle = n.mayBeInCycle(name) && n.applyingSets().areTogether(startOf(name), targetOf(e))
		}
		states = append(states, s.state())
	}
	return states
}

// mayBeInCycle reports whether other components can wait for a component, which must exist. If none can, a search for
// cycles is not necessary.
func (n *network) mayBeInCycle(name types.NamespacedName) bool {
	return len(n.followers[name]) > 0 || len(n.parents[name]) > 0 || len(n.components[name].children) > 0
}

func (n *network) applyingSets() *sets {
	if n.applying == nil {
		n.applying = newSets(n.applyingEdges)
	}
	return n.applying
}

// applyingEdges returns what a vertex waits for in the graph of new inputs.
func (n *network) applyingEdges(v vertex) []vertex {
	c, exists := n.components[v.name]
	if !exists {
		return nil
	}
	var edges []vertex
	if v.isEnd {
		edges = append(edges, startOf(v.name))
		for _, child := range c.children {
			edges = append(edges, endOf(child))
		}
		return edges
	}
	for _, e := range c.node.Edges {
		if n.consents(v.name, e.On) {
			edges = append(edges, targetOf(e))
		}
	}
	for parent := range n.parents[v.name] {
		edges = append(edges, startOf(parent))
	}
	return edges
}

// targetOf returns the vertex that the new inputs of a component with an edge wait for.
func targetOf(e Edge) vertex { return vertex{e.On, e.Kind == DependsOn} }
