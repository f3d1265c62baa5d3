package render

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/depgraph"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// GraphFormat is a language for graphs.
type GraphFormat string

// The languages.
const (
	GraphMermaid GraphFormat = "mermaid"
	GraphDOT     GraphFormat = "dot"
)

// GraphFormats are the names of all languages.
var GraphFormats = []string{string(GraphMermaid), string(GraphDOT)}

// WriteGraph writes the order of dependents as a graph. An arrow leads from an object to an object that it waits for,
// and from a wave to the wave before it. Dotted arrows lead to the namespace of an object and to the definition of its
// type. Arrows with the text "value" lead to an object whose exported value an object uses. Objects with several orders
// are in the wave of their first order.
func WriteGraph(out io.Writer, objects []manifests.Object, format GraphFormat) error {
	d := newDrawing(objects)
	text := d.mermaid
	if format == GraphDOT {
		text = d.dot
	}
	_, err := out.Write(text())
	return err
}

// drawing contains the elements of a graph. An object is named by its number.
type drawing struct {
	objects []manifests.Object
	numbers map[manifests.Key]int
	// groups are the waves, in order; free are the objects that belong to no wave.
	groups []drawnGroup
	free   []int
}

type drawnGroup struct {
	title   string
	phase   manifests.Phase
	members []int
}

func newDrawing(objects []manifests.Object) drawing {
	d := drawing{objects: objects, numbers: map[manifests.Key]int{}}
	for i, o := range objects {
		if o.Settings.Phase == manifests.PhaseApply && o.Occurrence == 0 {
			d.numbers[o.Key] = i
		}
		switch title := groupTitle(o); {
		case o.Occurrence > 0:
		case o.InGraph():
			d.free = append(d.free, i)
		case len(d.groups) > 0 && d.groups[len(d.groups)-1].title == title:
			last := &d.groups[len(d.groups)-1]
			last.members = append(last.members, i)
		default:
			d.groups = append(d.groups, drawnGroup{title: title, phase: o.Settings.Phase, members: []int{i}})
		}
	}
	return d
}

func groupTitle(o manifests.Object) string {
	if o.Settings.Phase != manifests.PhaseApply {
		return fmt.Sprintf("%s, wave %d", o.Settings.Phase, o.Settings.Order)
	}
	return fmt.Sprintf("wave %d", o.Settings.Order)
}

// follows reports whether a group waits for the group before it.
func (d drawing) follows(group int) bool {
	return group > 0 && d.groups[group-1].phase == d.groups[group].phase
}

// edgeKind says why an object waits for another object.
type edgeKind int

const (
	// edgeDependency is an element of depends-on.
	edgeDependency edgeKind = iota
	// edgeImplied leads to a namespace or to the definition of a type.
	edgeImplied
	// edgeValue leads to an object whose exported value a hole or a condition uses.
	edgeValue
)

// edges calls draw for each edge.
func (d drawing) edges(draw func(from, to int, kind edgeKind)) {
	values := depgraph.ValueEdges(d.objects)
	for i := range d.objects {
		o := &d.objects[i]
		if number, drawn := d.numbers[o.Key]; !drawn || number != i {
			continue
		}
		used := values[o.Key]
		for _, key := range o.Edges() {
			if to, found := d.numbers[key]; found && !slices.Contains(used, key) {
				draw(i, to, d.kindOf(key, to))
			}
		}
		for _, key := range used {
			if to, found := d.numbers[key]; found && to != i {
				draw(i, to, edgeValue)
			}
		}
	}
}

func (d drawing) kindOf(key manifests.Key, to int) edgeKind {
	if len(d.objects[to].Types) > 0 || key == (manifests.Key{Kind: "Namespace", Name: key.Name}) {
		return edgeImplied
	}
	return edgeDependency
}

func (d drawing) mermaid() []byte {
	var b bytes.Buffer
	b.WriteString("flowchart BT\n")
	name := func(i int) string {
		return fmt.Sprintf(
			"o%d[\"%s\"]",
			i,
			strings.NewReplacer(`"`, "#quot;", "<", "#lt;", ">", "#gt;").Replace(d.objects[i].Key.String()),
		)
	}
	for n, g := range d.groups {
		fmt.Fprintf(&b, "  subgraph w%d[\"%s\"]\n", n, g.title)
		for _, i := range g.members {
			fmt.Fprintf(&b, "    %s\n", name(i))
		}
		b.WriteString("  end\n")
	}
	for _, i := range d.free {
		fmt.Fprintf(&b, "  %s\n", name(i))
	}
	for n := range d.groups {
		if d.follows(n) {
			fmt.Fprintf(&b, "  w%d --> w%d\n", n, n-1)
		}
	}
	arrows := map[edgeKind]string{edgeDependency: "-->", edgeImplied: "-.->", edgeValue: "-->|value|"}
	d.edges(func(from, to int, kind edgeKind) {
		fmt.Fprintf(&b, "  o%d %s o%d\n", from, arrows[kind], to)
	})
	return b.Bytes()
}

func (d drawing) dot() []byte {
	var b bytes.Buffer
	b.WriteString("digraph dependents {\n  rankdir=BT; compound=true; node [shape=box];\n")
	name := func(i int) string {
		return fmt.Sprintf(
			"o%d [label=\"%s\"];",
			i,
			strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(d.objects[i].Key.String()),
		)
	}
	for n, g := range d.groups {
		fmt.Fprintf(&b, "  subgraph cluster_w%d {\n    label=\"%s\";\n", n, g.title)
		for _, i := range g.members {
			fmt.Fprintf(&b, "    %s\n", name(i))
		}
		b.WriteString("  }\n")
	}
	for _, i := range d.free {
		fmt.Fprintf(&b, "  %s\n", name(i))
	}
	for n := range d.groups {
		if d.follows(n) {
			fmt.Fprintf(&b, "  o%d -> o%d [ltail=cluster_w%d, lhead=cluster_w%d];\n",
				d.groups[n].members[0], d.groups[n-1].members[0], n, n-1)
		}
	}
	styles := map[edgeKind]string{edgeImplied: " [style=dotted]", edgeValue: " [label=\"value\"]"}
	d.edges(func(from, to int, kind edgeKind) {
		fmt.Fprintf(&b, "  o%d -> o%d%s;\n", from, to, styles[kind])
	})
	b.WriteString("}\n")
	return b.Bytes()
}
