package dependencies

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Holder is a component that must be deleted, or must give up its dependency, before another component is deleted.
type Holder struct {
	Name types.NamespacedName
	// Kind is the kind of its dependency.
	Kind Kind
	// Ends is set if the holder is being deleted, or is a dependent of a component that ends. If a holder does not end, a
	// person has to act.
	Ends bool
}

// hold is what a dependency says about the deletion of a component.
type hold struct {
	// isCut is set if the holder and the component are in one set of the graph of deletions, and all components of this
	// set end. None of them could be deleted first.
	isCut bool
	// namespaceGoes is set if the namespace of the component is being deleted, and isElsewhere if dependents of the
	// component are in another namespace or cluster. inNamespace is set if the holder is in the same namespace.
	namespaceGoes, isElsewhere, inNamespace bool
	// ends is Holder.Ends.
	ends bool
}

// blocks reports whether a holder blocks the deletion of a component.
//
// In a namespace that is being deleted, the order of deletions is only kept for dependents that the deletion of the
// namespace does not delete, and only while the holder is going to be deleted, so that nothing holds the namespace for
// ever. The namespace controller also deletes a holder in the same namespace.
func (h hold) blocks() bool {
	switch {
	case h.isCut:
		return false
	case h.namespaceGoes:
		return h.isElsewhere && (h.ends || h.inNamespace)
	}
	return true
}

// holders returns the components that block the deletion of a component, sorted.
func (n *network) holders(name types.NamespacedName, namespaceGoes bool) []Holder {
	var holders []Holder
	for follower := range n.followers[name] {
		if holder, blocks := n.holder(follower, name, namespaceGoes); blocks {
			holders = append(holders, holder)
		}
	}
	slices.SortFunc(holders, func(a, b Holder) int { return compareNames(a.Name, b.Name) })
	return holders
}

// holder returns a component as a holder of another one. blocks is set if it blocks the deletion.
func (n *network) holder(follower, name types.NamespacedName, namespaceGoes bool) (holder Holder, blocks bool) {
	edge, holds := n.holdingEdge(follower, name)
	if !holds {
		return Holder{}, false
	}
	h := hold{
		isCut: n.isCut(follower, name), namespaceGoes: namespaceGoes,
		isElsewhere: n.components[name].node.Elsewhere, inNamespace: follower.Namespace == name.Namespace,
		ends: n.ends(follower),
	}
	return Holder{follower, edge.Kind, h.ends}, h.blocks()
}

// holdingEdge returns the first edge because of which a follower holds a component. A component does not hold itself.
func (n *network) holdingEdge(follower, name types.NamespacedName) (edge Edge, holds bool) {
	c, exists := n.components[follower]
	if !exists || follower == name || !c.holds() || !n.consents(follower, name) {
		return Edge{}, false
	}
	i := slices.IndexFunc(c.node.Edges, func(e Edge) bool { return e.On == name && e.Blocks })
	if i < 0 {
		return Edge{}, false
	}
	return c.node.Edges[i], true
}

// isCut reports whether an edge does not count, because the deletions of a follower and of a component wait for each
// other, and all components that take part in this end.
func (n *network) isCut(follower, name types.NamespacedName) bool {
	if !n.mayBeInCycle(follower) || !n.deletingSets().areTogether(endOf(follower), startOf(name)) {
		return false
	}
	number := n.deleting.of(endOf(follower))
	isCut, known := n.cut[number]
	if !known {
		isCut = !slices.ContainsFunc(n.deleting.members[number], func(v vertex) bool { return !n.ends(v.name) })
		n.cut[number] = isCut
	}
	return isCut
}

// ends reports whether a component is being deleted, or is a dependent of a component that ends.
func (n *network) ends(name types.NamespacedName) bool {
	if len(n.parents[name]) == 0 {
		c, exists := n.components[name]
		return exists && c.isDeleting()
	}
	seen := names{name: {}}
	for queue := []types.NamespacedName{name}; len(queue) > 0; queue = queue[1:] {
		c, exists := n.components[queue[0]]
		switch {
		case !exists:
			continue
		case c.isDeleting():
			return true
		}
		for parent := range n.parents[queue[0]] {
			if _, found := seen[parent]; !found {
				seen.add(parent)
				queue = append(queue, parent)
			}
		}
	}
	return false
}

func (n *network) deletingSets() *sets {
	if n.deleting == nil {
		n.deleting, n.cut = newSets(n.deletingEdges), map[int]bool{}
	}
	return n.deleting
}

// deletingEdges returns what a vertex waits for in the graph of deletions. If a component is not being deleted yet, but
// is a dependent of a component that ends, it waits until that component deletes its dependents.
func (n *network) deletingEdges(v vertex) []vertex {
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
	for follower := range n.followers[v.name] {
		if _, holds := n.holdingEdge(follower, v.name); holds {
			edges = append(edges, endOf(follower))
		}
	}
	if c.isDeleting() {
		return edges
	}
	for parent := range n.parents[v.name] {
		if n.ends(parent) {
			edges = append(edges, startOf(parent))
		}
	}
	return edges
}
