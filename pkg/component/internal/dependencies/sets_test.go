package dependencies

import (
	"math/rand/v2"
	"testing"
)

// Two vertices are in one set if and only if each of them leads to the other one.
func TestSetsEqualAClosure(t *testing.T) {
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 0))
		size := 2 + random.IntN(12)
		vertices := make([]vertex, size)
		for i := range vertices {
			vertices[i] = vertex{componentName(i / 2), i%2 == 1}
		}
		edges := map[vertex][]vertex{}
		for range random.IntN(2 * size) {
			from := vertices[random.IntN(size)]
			edges[from] = append(edges[from], vertices[random.IntN(size)])
		}
		next := func(v vertex) []vertex { return edges[v] }
		s := newSets(next)
		for range 4 * size {
			a, b := vertices[random.IntN(size)], vertices[random.IntN(size)]
			want := a == b || leadsTo(next, a, b) && leadsTo(next, b, a)
			if got := s.areTogether(a, b); got != want {
				t.Fatalf("seed %d: areTogether(%v, %v) returned %t with %v", seed, a, b, got, edges)
			}
		}
		count := 0
		for i := range s.members {
			count += len(s.members[i])
		}
		if count != len(s.numbers) {
			t.Fatalf("seed %d: the sets have %d members, and %d vertices were visited", seed, count, len(s.numbers))
		}
	}
}

// leadsTo reports whether a path of at least one edge leads from a vertex to another one.
func leadsTo(edges func(vertex) []vertex, from, to vertex) bool {
	seen := map[vertex]bool{}
	for queue := []vertex{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range edges(queue[0]) {
			if next == to {
				return true
			}
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return false
}

func TestSetsAreSearchedOnDemand(t *testing.T) {
	visited := 0
	s := newSets(func(v vertex) []vertex {
		visited++
		if v == startOf(named("web")) {
			return []vertex{startOf(named("db"))}
		}
		return nil
	})
	for range 3 {
		s.areTogether(startOf(named("web")), startOf(named("other")))
	}
	if visited != 2 {
		t.Errorf("%d vertices were visited", visited)
	}
}
