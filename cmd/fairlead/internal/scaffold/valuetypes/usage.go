package valuetypes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template/parse"
)

// usage describes how the templates of a chart use values. If a template uses a value as a whole, the chart does not
// determine the keys of this value.
type usage struct {
	// whole contains the path of a template for each value that a template uses as a whole.
	whole map[valuePath]string
	// read contains the path of a template for each value that a template reads.
	read map[valuePath]string
	// looped contains the path of a template for each value over whose elements a template loops.
	looped map[valuePath]string
	// demanded contains the values that a template passes to the function required.
	demanded map[valuePath]bool
	notes    []string
}

// usageOf analyses templates. The keys are their paths.
func usageOf(templates map[string]string) usage {
	u := usage{
		whole: map[valuePath]string{}, looped: map[valuePath]string{}, read: map[valuePath]string{},
		demanded: map[valuePath]bool{},
	}
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		tree := parse.New(name)
		// The parser must not check names of functions, because templates use functions of Helm.
		tree.Mode = parse.SkipFuncCheck
		trees := map[string]*parse.Tree{}
		if _, err := tree.Parse(templates[name], "", "", trees); err != nil {
			u.notes = append(u.notes, fmt.Sprintf("%s cannot be parsed, so the values that it uses as a whole are unknown: %v",
				name, err))
			continue
		}
		for _, defined := range slices.Sorted(maps.Keys(trees)) {
			if trees[defined].Root != nil {
				walker{usage: &u, file: name}.list(trees[defined].Root, rootScope())
			}
		}
	}
	return u
}

// place is the result of an expression: the root of a template's data, a value of the chart, or unknown.
type place struct {
	root  bool
	value bool
	path  valuePath
}

// field returns the place of a field of p.
func (p place) field(name string) place {
	switch {
	case p.root && name == "Values":
		return place{value: true}
	case p.value:
		return place{value: true, path: p.path.child(name)}
	}
	return place{}
}

func (p place) fields(names []string) place {
	for _, name := range names {
		p = p.field(name)
	}
	return p
}

// scope contains the places of the dot and of variables.
type scope struct {
	dot       place
	variables map[string]place
}

func rootScope() scope {
	return scope{dot: place{root: true}, variables: map[string]place{"$": {root: true}}}
}

// with returns an inner scope with another dot and a copy of the variables.
func (s scope) with(dot place) scope { return scope{dot: dot, variables: maps.Clone(s.variables)} }

// walker walks the nodes of a template, and notes the use of values.
type walker struct {
	usage *usage
	file  string
}

func (w walker) note(p place) {
	if p.value && w.usage.whole[p.path] == "" {
		w.usage.whole[p.path] = w.file
	}
}

func (w walker) list(list *parse.ListNode, s scope) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		w.node(node, s)
	}
}

func (w walker) node(node parse.Node, s scope) {
	switch n := node.(type) {
	case *parse.ActionNode:
		result := w.pipe(n.Pipe, s)
		if len(n.Pipe.Decl) == 0 {
			w.note(result)
		}
	case *parse.IfNode:
		inner := s.with(s.dot)
		w.pipe(n.Pipe, inner)
		w.list(n.List, inner)
		w.list(n.ElseList, s.with(s.dot))
	case *parse.WithNode:
		inner := s.with(s.dot)
		inner.dot = w.pipe(n.Pipe, inner)
		w.list(n.List, inner)
		w.list(n.ElseList, s.with(s.dot))
	case *parse.RangeNode:
		w.loop(n, s)
	case *parse.TemplateNode:
		if n.Pipe != nil {
			w.note(w.pipe(n.Pipe, s))
		}
	case *parse.ListNode:
		w.list(n, s)
	}
}

// loop analyses a loop over a list or map.
func (w walker) loop(n *parse.RangeNode, s scope) {
	inner := s.with(s.dot)
	over := w.pipe(n.Pipe, inner)
	if over.value {
		w.usage.looped[over.path] = w.file
	}
	element := place{}
	if over.value {
		element = over.field(anyElement)
	}
	for i, variable := range n.Pipe.Decl {
		inner.variables[variable.Ident[0]] = place{}
		if i == len(n.Pipe.Decl)-1 {
			inner.variables[variable.Ident[0]] = element
		}
	}
	inner.dot = element
	w.list(n.List, inner)
	w.list(n.ElseList, s.with(s.dot))
}

// keysOf returns the keys of a value that templates read by name.
func (u usage) keysOf(path valuePath) []string {
	var found []string
	for read := range u.read {
		rest := string(read)
		if path != "" {
			below, ok := strings.CutPrefix(rest, string(path)+separator)
			if !ok {
				continue
			}
			rest = below
		}
		if key, _, _ := strings.Cut(rest, separator); isName(key) && !slices.Contains(found, key) {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	return found
}
