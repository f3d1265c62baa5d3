package dependencies

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// vertex is one of two moments of a component: its start or its end. In the graph of new inputs, the component applies
// them at its start, and is Ready at its end. In the graph of deletions, it deletes its first dependent at its start,
// and is deleted at its end. A vertex waits for the vertices that its edges lead to. The end waits for the start.
//
// One moment is not enough. A component may read an export of its parent, because the parent publishes the value before
// it is Ready. But the component must not wait until its parent is Ready, because the parent waits for its dependents.
type vertex struct {
	name  types.NamespacedName
	isEnd bool
}

func startOf(name types.NamespacedName) vertex { return vertex{name, false} }
func endOf(name types.NamespacedName) vertex   { return vertex{name, true} }

func (v vertex) compare(other vertex) int {
	byName := compareNames(v.name, other.name)
	switch {
	case byName != 0 || v.isEnd == other.isEnd:
		return byName
	case other.isEnd:
		return -1
	}
	return 1
}

// sets are the strongly connected sets of a graph: the vertices of a set all wait for each other. They are found on
// demand, by Tarjan's algorithm, and only in the part of the graph that an asked vertex waits for. The edges must not
// change.
type sets struct {
	// edges returns the vertices that a vertex waits for.
	edges func(vertex) []vertex
	// numbers are the indexes in members of the sets of all vertices that were visited.
	numbers map[vertex]int
	members [][]vertex
}

func newSets(edges func(vertex) []vertex) *sets {
	return &sets{edges: edges, numbers: map[vertex]int{}}
}

// areTogether reports whether two vertices are in the same set.
func (s *sets) areTogether(a, b vertex) bool {
	of := s.of(a)
	number, visited := s.numbers[b] // If a waits for b, b was visited.
	return visited && number == of
}

// with returns the vertices of the set of a vertex.
func (s *sets) with(v vertex) []vertex { return s.members[s.of(v)] }

// of returns the number of the set of a vertex.
func (s *sets) of(v vertex) int {
	if _, visited := s.numbers[v]; !visited {
		search := &search{sets: s, index: map[vertex]int{}}
		search.visit(v)
	}
	return s.numbers[v]
}

// search is a depth-first search for the sets of all vertices that a vertex waits for.
type search struct {
	*sets
	// index numbers the vertices in the order of their visits. path contains those whose set is not complete.
	index map[vertex]int
	path  []vertex
}

// visit returns the lowest index of a vertex on the path that v leads to.
func (s *search) visit(v vertex) int {
	index := len(s.index)
	lowest := index
	s.index[v], s.path = index, append(s.path, v)
	for _, next := range s.edges(v) {
		if _, isComplete := s.numbers[next]; isComplete {
			continue
		}
		low, isOnPath := s.index[next]
		if !isOnPath {
			low = s.visit(next)
		}
		lowest = min(lowest, low)
	}
	if lowest == index {
		s.complete(v)
	}
	return lowest
}

// complete makes a set of v and the vertices behind it on the path.
func (s *search) complete(v vertex) {
	first := len(s.path) - 1
	for s.path[first] != v {
		first--
	}
	for _, member := range s.path[first:] {
		s.numbers[member] = len(s.members)
	}
	s.members = append(s.members, slices.Clone(s.path[first:]))
	s.path = s.path[:first]
}
