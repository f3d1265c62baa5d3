package depgraph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Needs are the objects whose exported values an object uses, by the key of that object.
type Needs map[manifests.Key][]manifests.Key

// Add adds an exporter.
func (n Needs) Add(key, exporter manifests.Key) {
	if !slices.Contains(n[key], exporter) {
		n[key] = append(n[key], exporter)
	}
}

// CheckFlow returns the contradictions between the dependencies and the exported values of a set: objects that wait for
// each other, and objects in waves that wait for the value of an object that depends on a later wave. All edges must be
// set.
func CheckFlow(objects []manifests.Object, used Needs) []error {
	if len(used) == 0 && !slices.ContainsFunc(objects, manifests.Object.InGraph) {
		return nil
	}
	f := flow{
		used: used, index: make(map[manifests.Key]int, len(objects)), objects: objects, edges: make([][]int, len(objects)),
		lastOrders: make(map[manifests.Key]int, len(objects)),
	}
	for i := range objects {
		f.lastOrders[objects[i].Key] = objects[i].Settings.Order
		if _, known := f.index[objects[i].Key]; !known {
			f.index[objects[i].Key] = i
		}
	}
	for i := range objects {
		if objects[i].Occurrence > 0 {
			continue
		}
		for _, key := range objects[i].Edges() {
			f.addEdge(i, key)
		}
		for _, key := range used[objects[i].Key] {
			if _, twice := slices.BinarySearchFunc(objects[i].Edges(), key, manifests.Key.Compare); !twice {
				f.addEdge(i, key)
			}
		}
	}
	order, rest := Topological(f.edges)
	if len(rest) > 0 {
		return f.cycles(rest)
	}
	return f.late(order)
}

// flow contains an edge from each object to the objects that it depends on, or whose values it uses.
type flow struct {
	objects []manifests.Object
	used    Needs
	index   map[manifests.Key]int
	edges   [][]int
	// lastOrders are the orders of the last occurrences of the objects.
	lastOrders map[manifests.Key]int
}

func (f flow) addEdge(from int, key manifests.Key) {
	if to, known := f.index[key]; known {
		f.edges[from] = append(f.edges[from], to)
	}
}

// cycles returns an error for each cycle.
func (f flow) cycles(rest []int) []error {
	var errs []error
	for _, cycle := range findCycles(f.edges, rest) {
		var path strings.Builder
		values, depends := false, false
		for at, i := range cycle {
			next := f.objects[cycle[(at+1)%len(cycle)]].Key
			path.WriteString(f.objects[i].Key.String())
			if slices.Contains(f.used[f.objects[i].Key], next) {
				values = true
				path.WriteString(" needs ")
			} else {
				depends = true
				path.WriteString(" -> ")
			}
		}
		first := f.objects[cycle[0]].Key
		path.WriteString(first.String())
		switch {
		case !values:
			errs = append(errs, fmt.Errorf("%s: the objects depend on each other, so none of them could be applied: %s; "+
				"remove one of these dependencies", manifests.AnnotationDependsOn, &path))
		case !depends:
			errs = append(errs, fmt.Errorf("%s: it waits for a value that depends on itself: %s", first, &path))
		default:
			errs = append(errs, fmt.Errorf("the objects wait for each other, so none of them could be applied: %s; remove "+
				"one of these dependencies (->), or of these uses of an exported value (needs)", &path))
		}
	}
	return errs
}

// late returns an error for each object in a wave that uses a value of an object that depends on a later wave. Such a
// wave waits for the object, so it would never begin. order contains all objects, each after those that it waits for.
func (f flow) late(order []int) []error {
	// latest is the object of the last wave that an object waits for.
	latest := make([]int, len(f.objects))
	var errs []error
	for _, i := range order {
		o := &f.objects[i]
		latest[i] = -1
		if !o.InGraph() {
			latest[i] = i
		}
		for _, to := range f.edges[i] {
			last := latest[to]
			switch {
			case last < 0:
			case o.InGraph():
				if latest[i] < 0 || f.orderOf(last) > f.orderOf(latest[i]) {
					latest[i] = last
				}
			case f.objects[to].InGraph() && f.orderOf(last) > o.Settings.Order:
				errs = append(errs, fmt.Errorf(
					"%s: it uses a value of %s, which depends on %s, whose order %d is after its own order %d; give it order %d "+
						"or a later one", o.Key, f.objects[to].Key, f.objects[last].Key, f.orderOf(last), o.Settings.Order,
					f.orderOf(last)))
			}
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}

// orderOf returns the last order of an object; the index contains its first occurrence.
func (f flow) orderOf(i int) int { return f.lastOrders[f.objects[i].Key] }

// ValueEdges returns the objects whose exported values each object of a set uses, in its holes and in its conditions,
// in the order of their keys. The objects must be normalised. An object waits for these values, so these edges are in
// addition to Edges. Objects that use no values are not in the map.
func ValueEdges(objects []manifests.Object) map[manifests.Key][]manifests.Key {
	exporters := map[string]manifests.Key{}
	for i := range objects {
		for _, e := range objects[i].Settings.Exports() {
			exporters[e.Name] = objects[i].Key
		}
	}
	found := Needs{}
	for i := range objects {
		o := &objects[i]
		if o.Settings.Graph != nil {
			for _, exporter := range o.Settings.Graph.Exporters {
				found.Add(o.Key, exporter)
			}
		}
		if !o.ReadsExports() {
			continue
		}
		for _, name := range o.Settings.Conditions.Exports {
			if exporter, known := exporters[name]; known {
				found.Add(o.Key, exporter)
			}
		}
	}
	for _, used := range found {
		slices.SortFunc(used, manifests.Key.Compare)
	}
	return found
}
