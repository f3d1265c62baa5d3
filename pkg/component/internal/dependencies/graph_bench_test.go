package dependencies

import (
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// shape is a set of components with their dependencies. Each component comes after those that it depends on.
type shape struct {
	name  string
	size  int
	edges func(i int) []int
}

var shapes = []shape{
	{"1000_on_one", 1001, func(i int) []int {
		if i == 0 {
			return nil
		}
		return []int{0}
	}},
	{"chain_of_100", 100, func(i int) []int {
		if i == 0 {
			return nil
		}
		return []int{i - 1}
	}},
	{"500_in_10_layers", 500, func(i int) []int {
		if i < 50 {
			return nil
		}
		first := i - i%50 - 50 // Each component depends on three of the layer before.
		return []int{first + i%50, first + (i+7)%50, first + (i+19)%50}
	}},
	{"10000_in_20_layers", 10_000, func(i int) []int {
		if i < 500 {
			return nil
		}
		first := i - i%500 - 500
		return []int{first + i%500, first + (i+7)%500, first + (i+19)%500}
	}},
}

// upgrade is a Graph in which all components of a shape get new inputs, and its queue of passes.
type upgrade struct {
	graph   *Graph
	nodes   []Node
	indexes map[types.NamespacedName]int
	queue   []types.NamespacedName
	version int
	passes  int
}

func newUpgrade(s shape) *upgrade {
	u := &upgrade{indexes: map[types.NamespacedName]int{}}
	u.graph = New(func(name types.NamespacedName) { u.queue = append(u.queue, name) })
	for i := range s.size {
		node := Node{UID: types.UID(strconv.Itoa(i)), Health: Health{Generation: 1}}
		for _, on := range s.edges(i) {
			node.Edges = append(node.Edges, Edge{componentName(on), DependsOn, true})
		}
		u.indexes[componentName(i)] = i
		u.nodes = append(u.nodes, node)
	}
	return u
}

// put delivers a version of a component, and may change it first.
func (u *upgrade) put(i int, change func(*Node)) {
	change(&u.nodes[i])
	u.version++
	u.nodes[i].Version = strconv.Itoa(u.version)
	u.graph.Put(componentName(i), u.nodes[i])
}

// feed delivers all components, and makes a pass over each of them, the last ones first.
func (u *upgrade) feed() {
	for i := range u.nodes {
		u.put(i, func(*Node) {})
	}
	u.graph.Complete()
	for i := range slices.Backward(u.nodes) {
		u.queue = append(u.queue, componentName(i))
	}
}

// apply makes passes until all components are Ready.
func (u *upgrade) apply() {
	for len(u.queue) > 0 {
		name := u.queue[0]
		u.queue = u.queue[1:]
		u.passes++
		i := u.indexes[name]
		u.graph.Enter(name, u.nodes[i])
		if u.graph.Begin(name, u.nodes[i].UID).Permits() {
			u.put(i, func(n *Node) { n.Holds = true })
			u.put(i, func(n *Node) { n.Health = ready })
		}
	}
}

// delete deletes all components, the dependencies first, and makes passes until none exists.
func (u *upgrade) delete() {
	for i := range u.nodes {
		u.put(i, func(n *Node) { n.Deleting = true })
		u.queue = append(u.queue, componentName(i))
	}
	for len(u.queue) > 0 {
		name := u.queue[0]
		u.queue = u.queue[1:]
		u.passes++
		i := u.indexes[name]
		u.graph.Enter(name, u.nodes[i])
		if holders, _ := u.graph.Holders(name, u.nodes[i].UID, false); len(holders) == 0 {
			u.put(i, func(n *Node) { n.Holds = false })
			u.graph.Remove(name, u.nodes[i].UID)
		}
	}
}

// BenchmarkGraph measures all calls for the first apply, and for the deletion, of all components of a shape. The passes
// of each component are reported, too.
func BenchmarkGraph(b *testing.B) {
	for _, s := range shapes {
		b.Run("apply/"+s.name, func(b *testing.B) {
			b.ReportAllocs()
			passes := 0
			for b.Loop() {
				u := newUpgrade(s)
				u.feed()
				u.apply()
				passes = u.passes
			}
			b.ReportMetric(float64(passes)/float64(s.size), "passes/component")
		})
		b.Run("delete/"+s.name, func(b *testing.B) {
			b.ReportAllocs()
			passes := 0
			for b.Loop() {
				b.StopTimer()
				u := newUpgrade(s)
				u.feed()
				u.apply()
				u.passes = 0
				b.StartTimer()
				u.delete()
				passes = u.passes
			}
			b.ReportMetric(float64(passes)/float64(s.size), "passes/component")
		})
	}
}

// BenchmarkWake measures a change of a component that 1,000 components depend on, if none and if all of them wait.
func BenchmarkWake(b *testing.B) {
	for _, waiting := range []int{0, 1000} {
		b.Run(strconv.Itoa(waiting)+"_of_1000_wait", func(b *testing.B) {
			u := newUpgrade(shapes[0])
			u.feed()
			u.apply()
			for i := range waiting {
				u.graph.Follow(componentName(i+1), u.nodes[i+1].UID)
			}
			for b.Loop() {
				u.put(0, func(n *Node) { n.Health.IsReady = !n.Health.IsReady })
				u.queue = nil
			}
		})
	}
}

// BenchmarkRing measures a change of a component in a cycle of 1,000 components that wait for their deletion.
func BenchmarkRing(b *testing.B) {
	const size = 1000
	u := newUpgrade(shape{"ring", size, func(i int) []int { return []int{(i + 1) % size} }})
	u.feed()
	for i := range size {
		u.put(i, func(n *Node) { n.Holds, n.Deleting = true, i > 0 })
	}
	for i := 1; i < size; i++ {
		u.graph.Holders(componentName(i), u.nodes[i].UID, false)
	}
	for b.Loop() {
		u.put(0, func(n *Node) { n.Elsewhere = !n.Elsewhere })
	}
}

// A component that waits makes few passes, however many components it waits for.
func TestPassesOfManyComponents(t *testing.T) {
	for _, s := range shapes[:3] {
		t.Run(s.name, func(t *testing.T) {
			u := newUpgrade(s)
			u.feed()
			u.apply()
			if limit := 3 * s.size; u.passes > limit {
				t.Errorf("%d components needed %d passes until they were Ready", s.size, u.passes)
			}
			u.passes = 0
			u.delete()
			if limit := 4 * s.size; u.passes > limit || len(u.graph.answers.components) > 0 {
				t.Errorf("%d passes deleted all but %d of %d components", u.passes, len(u.graph.answers.components), s.size)
			}
		})
	}
}
