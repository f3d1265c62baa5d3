package main

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/packages"
)

// fileCycles finds files of a package that depend on each other. A file depends on another file if it uses a name that
// the other file declares, including fields and methods.
func (c *code) fileCycles() measure {
	m := measure{name: "files of a package in one dependency cycle", goal: "-"}
	uses := map[*packages.Package]graph{}
	c.eachUse(func(p *packages.Package, by ast.Decl, used types.Object) {
		if used.Pkg() != p.Types {
			return
		}
		from, to := p.Fset.Position(by.Pos()).Filename, p.Fset.Position(used.Pos()).Filename
		if uses[p] == nil {
			uses[p] = graph{}
		}
		if uses[p][from] == nil {
			uses[p][from] = map[string]bool{}
		}
		uses[p][from][to] = true
	})
	for p, g := range uses {
		if size := g.largestCycle(); size > 1 {
			m.places = append(m.places, place{size, c.folder(p)})
		}
	}
	return m
}

// graph maps each node to the nodes that it depends on.
type graph map[string]map[string]bool

// largestCycle returns the number of nodes in the largest strongly connected component, by Tarjan's algorithm.
func (g graph) largestCycle() int {
	s := search{graph: g, index: map[string]int{}, low: map[string]int{}, open: map[string]bool{}}
	for node := range g {
		if _, seen := s.index[node]; !seen {
			s.visit(node)
		}
	}
	return s.largest
}

// search is the state of a depth-first search for strongly connected components.
type search struct {
	graph      graph
	index, low map[string]int
	stack      []string
	// open contains the nodes on the stack.
	open    map[string]bool
	largest int
}

func (s *search) visit(node string) {
	s.index[node] = len(s.index)
	s.low[node] = s.index[node]
	s.stack, s.open[node] = append(s.stack, node), true
	for next := range s.graph[node] {
		if _, seen := s.index[next]; !seen {
			s.visit(next)
			s.low[node] = min(s.low[node], s.low[next])
		} else if s.open[next] {
			s.low[node] = min(s.low[node], s.index[next])
		}
	}
	if s.low[node] != s.index[node] {
		return
	}
	for size := 1; ; size++ {
		last := s.stack[len(s.stack)-1]
		s.stack, s.open[last] = s.stack[:len(s.stack)-1], false
		if last == node {
			s.largest = max(s.largest, size)
			return
		}
	}
}
