package depgraph

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxEdges is the maximum number of edges of a set. Groups multiply edges: each object that depends on a group has an
// edge to each of its members.
const maxEdges = 100_000

// Resolve sets the edges of all objects that depend on others, and moves these objects behind all waves, so that
// each object comes after the objects that it depends on. objects must be sorted in apply order. It returns the objects
// in the new order, and all errors: dependencies that do not exist, and contradictions. The objects of cycles come
// last; see CheckFlow. Its time is linear in the number of objects and edges. refused are the objects that are missing
// because their manifests are invalid.
func Resolve(objects []manifests.Object, refused Refused) ([]manifests.Object, []error) {
	if !slices.ContainsFunc(objects, manifests.Object.InGraph) {
		return objects, nil
	}
	g := newGraph(objects)
	g.refused = refused
	var errs []error
	for i := range objects {
		if o := &objects[i]; o.InGraph() {
			if err := g.resolve(o); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", o.Key, err))
			}
		}
	}
	if g.edges > maxEdges {
		return objects, append(errs, fmt.Errorf("%s: the objects have together more than %d dependencies; let fewer "+
			"objects depend on large groups", manifests.AnnotationDependsOn, maxEdges))
	}
	return sortGraph(objects), errs
}

// graph indexes the objects of a set that are applied with the component.
type graph struct {
	// objects contains the objects of the phase apply, and phased the keys of all other objects.
	objects map[manifests.Key]*manifests.Object
	phased  map[manifests.Key]manifests.Phase
	// groups are the members of each group, in apply order.
	groups map[string][]manifests.Key
	// definitions are the objects that define each managed type.
	definitions map[manifests.ManagedType][]manifests.Key
	refused     Refused
	edges       int
}

// Refused are the objects of a set whose manifests are invalid: their keys without namespaces, and the groups that they
// belong to. The zero value has none.
type Refused struct {
	keys   map[manifests.Key]bool
	groups map[string]bool
}

// Add adds an object, and the group that it belongs to.
func (r *Refused) Add(key manifests.Key, group string) {
	if r.keys == nil {
		r.keys, r.groups = map[manifests.Key]bool{}, map[string]bool{}
	}
	r.keys[anyNamespace(key)], r.groups[group] = true, true
}

func newGraph(objects []manifests.Object) *graph {
	g := &graph{
		objects: make(map[manifests.Key]*manifests.Object, len(objects)), phased: map[manifests.Key]manifests.Phase{},
		groups: map[string][]manifests.Key{}, definitions: map[manifests.ManagedType][]manifests.Key{},
	}
	for i := range objects {
		o := &objects[i]
		if o.Settings.Phase != manifests.PhaseApply {
			g.phased[o.Key] = o.Settings.Phase
			continue
		}
		if g.objects[o.Key] == nil {
			g.objects[o.Key] = o
			if name := o.DependencyGroup(); name != "" {
				g.groups[name] = append(g.groups[name], o.Key)
			}
		}
		for _, t := range o.Types {
			g.definitions[t] = append(g.definitions[t], o.Key)
		}
	}
	return g
}

// resolve sets the edges of an object. The returned error joins all errors of its dependencies.
func (g *graph) resolve(o *manifests.Object) error {
	if builtintypes.HoldsOthers(o.Key.GroupKind()) {
		return fmt.Errorf("annotation %s: an object that contains or defines others cannot depend on others; remove the "+
			"setting, or give the object an order", manifests.AnnotationDependsOn)
	}
	var errs []error
	edges := map[manifests.Key]bool{}
	for _, d := range o.Settings.Graph.DependsOn {
		keys, err := g.find(o, d)
		if err != nil {
			errs = append(errs, fmt.Errorf("annotation %s: %w", manifests.AnnotationDependsOn, err))
		}
		for _, key := range keys {
			edges[key] = true
		}
	}
	for _, key := range g.implied(o) {
		edges[key] = true
	}
	if g.edges += len(edges); len(edges) == 0 || g.edges > maxEdges {
		return errors.Join(errs...)
	}
	keys := slices.AppendSeq(make([]manifests.Key, 0, len(edges)), maps.Keys(edges))
	slices.SortFunc(keys, manifests.Key.Compare)
	o.Settings.Graph.Edges = keys
	return errors.Join(errs...)
}

// find returns the objects that a dependency names. It returns none for an optional dependency that is not in the set.
func (g *graph) find(o *manifests.Object, d manifests.Dependency) ([]manifests.Key, error) {
	if d.Group != "" {
		members := slices.DeleteFunc(slices.Clone(g.groups[d.Group]), func(key manifests.Key) bool { return key == o.Key })
		switch {
		case d.Group == o.DependencyGroup():
			return nil, fmt.Errorf("the object belongs to the group %s, which it depends on; remove one of the settings", d)
		case len(members) == 0 && !d.Optional && !g.refused.groups[d.Group]:
			return nil, fmt.Errorf("no object belongs to the group %s; set %s: %s on an object, or write %s?",
				d, manifests.AnnotationDependsOnGroup, d.Group, d)
		}
		return members, nil
	}
	candidates := d.In(o.Key.Namespace)
	for _, key := range candidates {
		if g.objects[key] != nil {
			return []manifests.Key{key}, nil
		}
	}
	for _, key := range candidates {
		if phase, phased := g.phased[key]; phased {
			return nil, fmt.Errorf("%s belongs to the phase %s, and is not applied with this object; remove it from the list",
				key, phase)
		}
	}
	if d.Optional || g.refused.keys[anyNamespace(d.Key)] {
		return nil, nil
	}
	return nil, fmt.Errorf("%s is not in the set; render it, or write %s? if it may be missing%s",
		candidates[0], d, g.similar(candidates[0]))
}

// anyNamespace returns the key without its namespace.
func anyNamespace(key manifests.Key) manifests.Key {
	key.Namespace = ""
	return key
}

// similar returns advice if the set contains an object of the same name and another type or namespace.
func (g *graph) similar(wanted manifests.Key) string {
	var found []manifests.Key
	for key := range g.objects {
		if key.Name == wanted.Name && strings.EqualFold(key.Kind, wanted.Kind) {
			found = append(found, key)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", slices.MinFunc(found, manifests.Key.Compare))
}

// implied returns the namespace of an object and the definitions of its type, if they are in the set.
func (g *graph) implied(o *manifests.Object) []manifests.Key {
	var keys []manifests.Key
	namespace := manifests.Key{Kind: "Namespace", Name: o.Key.Namespace}
	if o.Key.Namespace != "" && g.objects[namespace] != nil {
		keys = append(keys, namespace)
	}
	for _, kind := range []string{o.Key.Kind, "*"} {
		keys = append(keys, g.definitions[manifests.ManagedType{GroupKind: schema.GroupKind{Group: o.Key.Group, Kind: kind}}]...)
	}
	return keys
}

// sortGraph moves the objects that depend on others behind all other objects, each behind the objects that it depends
// on. The objects of cycles come last.
func sortGraph(objects []manifests.Object) []manifests.Object {
	sorted := make([]manifests.Object, 0, len(objects))
	var nodes []manifests.Object
	for _, o := range objects {
		if o.InGraph() {
			nodes = append(nodes, o)
		} else {
			sorted = append(sorted, o)
		}
	}
	slices.SortFunc(nodes, func(a, b manifests.Object) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), a.Key.Compare(b.Key))
	})
	edges := make([][]int, len(nodes))
	index := make(map[manifests.Key]int, len(nodes))
	for i := range nodes {
		index[nodes[i].Key] = i
	}
	for i := range nodes {
		for _, key := range nodes[i].Edges() {
			if j, inGraph := index[key]; inGraph {
				edges[i] = append(edges[i], j)
			}
		}
	}
	order, rest := Topological(edges)
	for _, i := range order {
		sorted = append(sorted, nodes[i])
	}
	for _, i := range rest {
		sorted = append(sorted, nodes[i])
	}
	return sorted
}

// Topological returns the nodes 0 to len(edges)-1 of a graph so that each node comes after the nodes that its edges
// lead to; nodes without such an order between them come in generations, each ascending. rest are the nodes that are in
// cycles, or from which an edge leads to a cycle. Its time is linear in the number of nodes and edges.
func Topological(edges [][]int) (order, rest []int) {
	open, dependents := make([]int, len(edges)), make([][]int, len(edges))
	for i, to := range edges {
		open[i] = len(to)
		for _, j := range to {
			dependents[j] = append(dependents[j], i)
		}
	}
	order = make([]int, 0, len(edges))
	for i := range edges {
		if open[i] == 0 {
			order = append(order, i)
		}
	}
	for next := 0; next < len(order); next++ {
		for _, i := range dependents[order[next]] {
			if open[i]--; open[i] == 0 {
				order = append(order, i)
			}
		}
	}
	for i := range edges {
		if open[i] > 0 {
			rest = append(rest, i)
		}
	}
	return order, rest
}

// findCycles returns cycles among the nodes that have no topological order. Each node is in at most one of them, and
// each part of the graph whose nodes all lead to each other has at least one. Its time is linear in the number of nodes
// and edges.
func findCycles(edges [][]int, rest []int) [][]int {
	const done = -1
	// places are the indexes of the visited nodes in the path, or done.
	places := map[int]int{}
	remains := make(map[int]bool, len(rest))
	for _, i := range rest {
		remains[i] = true
	}
	// A step is a node of the path with the number of its edges that were followed. used is the last step of the path up
	// to here whose node is in a cycle that was found, or -1.
	type step struct{ node, followed, used int }
	var path []step
	visit := func(node int) {
		used := -1
		if len(path) > 0 {
			used = path[len(path)-1].used
		}
		places[node] = len(path)
		path = append(path, step{node: node, used: used})
	}
	var cycles [][]int
	for _, start := range rest {
		if _, visited := places[start]; !visited {
			visit(start)
		}
		for len(path) > 0 {
			top := &path[len(path)-1]
			if top.followed == len(edges[top.node]) {
				places[top.node] = done
				path = path[:len(path)-1]
				continue
			}
			next := edges[top.node][top.followed]
			top.followed++
			first, visited := places[next]
			switch {
			case !visited && remains[next]:
				visit(next)
			case visited && first > top.used:
				cycle := make([]int, 0, len(path)-first)
				for i := first; i < len(path); i++ {
					cycle, path[i].used = append(cycle, path[i].node), i
				}
				cycles = append(cycles, cycle)
			}
		}
	}
	return cycles
}
