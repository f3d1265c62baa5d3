package valuetypes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template/parse"
)

// usage says which values the templates of a chart pass on as they are: what is in them is not the chart's to say.
type usage struct {
	// whole has the file in which a value is used as a whole.
	whole map[valuePath]string
	// read has the file in which a value is read, for whatever.
	read map[valuePath]string
	// looped has the file that goes through all elements of a value.
	looped map[valuePath]string
	notes  []string
}

// usageOf reads templates, given by their paths.
func usageOf(templates map[string]string) usage {
	u := usage{whole: map[valuePath]string{}, looped: map[valuePath]string{}, read: map[valuePath]string{}}
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		tree := parse.New(name)
		// Functions are those of Helm, whose names do not matter here.
		tree.Mode = parse.SkipFuncCheck
		trees := map[string]*parse.Tree{}
		if _, err := tree.Parse(templates[name], "", "", trees); err != nil {
			u.notes = append(u.notes, fmt.Sprintf("%s cannot be parsed, so the values that it passes on are unknown: %v", name, err))
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

// place is what an expression stands for: nothing that is known, the root of a template's data, or a value.
type place struct {
	root  bool
	value bool
	path  valuePath
}

// field goes one level down.
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

// scope is what the dot and the variables stand for.
type scope struct {
	dot       place
	variables map[string]place
}

func rootScope() scope {
	return scope{dot: place{root: true}, variables: map[string]place{"$": {root: true}}}
}

// with returns a scope inside this one.
func (s scope) with(dot place) scope { return scope{dot: dot, variables: maps.Clone(s.variables)} }

// walker goes through a template.
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

// loop is over a list or a map.
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

// keysOf are the parts of a value that templates read by name.
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
