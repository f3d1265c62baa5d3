package dependencies

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Link is a component of a cycle. Kind says why it needs the next component, or the first one if it is the last.
type Link struct {
	Name types.NamespacedName
	Kind Kind
}

// cycle returns a shortest cycle through a component in the graph of new inputs, beginning with the component; nil if
// there is none. It is a search in breadth.
func (n *network) cycle(name types.NamespacedName) []Link {
	start := startOf(name)
	before := map[vertex]vertex{}
	for queue := []vertex{start}; len(queue) > 0; queue = queue[1:] {
		edges := n.applyingEdges(queue[0])
		slices.SortFunc(edges, vertex.compare)
		for _, next := range edges {
			if next == start {
				return n.links(before, start, queue[0])
			}
			if _, seen := before[next]; !seen {
				before[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// links returns the cycle that begins with start and ends with last. before maps each other vertex to its previous one.
func (n *network) links(before map[vertex]vertex, start, last vertex) []Link {
	path := []vertex{last}
	for v := last; v != start; {
		v = before[v]
		path = append(path, v)
	}
	slices.Reverse(path)
	var links []Link
	for i, v := range path {
		next := path[(i+1)%len(path)]
		if isOneComponent := v == endOf(next.name) && next == startOf(next.name); !isOneComponent {
			links = append(links, Link{v.name, n.kindOf(v, next)})
		}
	}
	return links
}

// kindOf returns the kind of the edge between two vertices of different components.
func (n *network) kindOf(v, next vertex) Kind {
	isExports := func(e Edge) bool { return e.On == next.name && e.Kind == Exports }
	switch {
	case v.isEnd:
		return Contains
	case next.isEnd:
		return DependsOn
	case slices.ContainsFunc(n.components[v.name].node.Edges, isExports):
		return Exports
	}
	return IsContained
}
