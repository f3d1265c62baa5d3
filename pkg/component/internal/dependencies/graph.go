package dependencies

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Graph knows the dependencies between the components of a reconciler. It is safe for concurrent use.
//
// A component never has two passes at the same time. Each pass calls Enter first. A pass that applies new inputs then
// calls Follow and Begin, and a pass that deletes dependents calls Holders.
type Graph struct {
	mu      sync.Mutex
	answers answers
	wake    func(types.NamespacedName)
}

// New returns a Graph without components. The Graph calls wake to start a pass over a component. It does not hold its
// lock then, so wake may call the Graph.
func New(wake func(types.NamespacedName)) *Graph {
	return &Graph{
		answers: answers{network: newNetwork(), waiting: map[types.NamespacedName]question{}},
		wake:    wake,
	}
}

// Put enters a version of a component that the informer delivered. A version that is older than the one that the last
// pass worked with changes nothing.
func (g *Graph) Put(name types.NamespacedName, node Node) {
	g.change(func() []types.NamespacedName {
		next := g.known(name, node.UID)
		if c, found := g.answers.components[name]; found && isOlder(node.Version, c.entered) {
			if c.node.UID != node.UID {
				return nil
			}
			node = c.node
		}
		next.node, next.isDelivered = node, true
		return g.answers.replace(name, next)
	})
}

// Remove removes a component that the informer reports as deleted. If the last pass over the component began to apply
// inputs, it may still be creating dependents. The component then stays until Forget.
func (g *Graph) Remove(name types.NamespacedName, uid types.UID) {
	g.change(func() []types.NamespacedName {
		c := g.current(name, uid)
		switch {
		case c == nil:
			return nil
		case !c.began:
			return g.answers.delete(name)
		}
		next := *c
		next.node.Deleting, next.isDelivered = true, false
		return g.answers.replace(name, &next)
	})
}

// Complete must be called when Put was called for all components that existed when the reconciler started. Before, no
// component may begin to apply inputs, and none may be deleted.
func (g *Graph) Complete() {
	g.change(func() []types.NamespacedName {
		g.answers.isComplete = true
		return g.answers.renewAll()
	})
}

// Enter enters the version of a component that a pass works with, unless the informer has delivered a newer one. From
// then on, calls of Follow and Holders in previous passes start no pass, and a call of Begin in a previous pass has no
// effect. Each pass must call Enter as soon as it has loaded the component, even if it applies nothing, because the
// deletion of another component may wait for it.
func (g *Graph) Enter(name types.NamespacedName, node Node) {
	g.change(func() []types.NamespacedName {
		delete(g.answers.waiting, name)
		next, version := g.known(name, node.UID), node.Version
		if c, found := g.answers.components[name]; found && c.node.Version != c.entered && isOlder(version, c.node.Version) {
			if c.node.UID != node.UID {
				return nil
			}
			node = c.node
		}
		next.node, next.entered, next.began = node, version, false
		return g.answers.replace(name, next)
	})
}

// SetChildren enters the components among the dependents of a component, as its inventory says. It must not contain
// components that stay when the component is deleted. Annotations of the children are no evidence: whoever may change a
// component could make other components wait with them.
func (g *Graph) SetChildren(name types.NamespacedName, uid types.UID, children []types.NamespacedName) {
	g.change(func() []types.NamespacedName {
		c := g.current(name, uid)
		if c == nil {
			return nil
		}
		next := *c
		next.children = children
		return g.answers.replace(name, &next)
	})
}

// Follow returns the states of the dependencies of a component. Until the next pass calls Enter, a pass over the
// component is started when all dependencies permit new inputs, and when a dependency does not permit them for another
// cause than before.
func (g *Graph) Follow(name types.NamespacedName, uid types.UID) Answer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.follow(name, uid)
}

// Begin is Follow for a component that waits for nothing but its dependencies. A pass calls it before it applies new
// inputs, and before it creates the first dependent. If the answer permits this, the component holds its dependencies
// until its next pass, even if it has no recorded dependents, and it does not wait.
func (g *Graph) Begin(name types.NamespacedName, uid types.UID) (answer Answer) {
	g.change(func() []types.NamespacedName {
		if answer = g.follow(name, uid); !answer.Permits() {
			return nil
		}
		delete(g.answers.waiting, name)
		next := *g.answers.components[name]
		next.began = true
		return g.answers.replace(name, &next)
	})
	return answer
}

// Holders returns the components that block the deletion of a component, sorted. isKnown is that of Answer. The
// component then counts as one that is being deleted.
//
// If there are no holders, the deletion may begin, and nothing blocks it later. Otherwise a pass over the component is
// started when no holder is left, and when the holders that do not end appear, are none any more, or are all others
// than before. A holder that began to apply inputs in its last pass, and has no recorded dependents, is started at
// once. Its pass shows whether it has dependents.
func (g *Graph) Holders(
	name types.NamespacedName, uid types.UID, namespaceGoes bool,
) (holders []Holder, isKnown bool) {
	g.change(func() []types.NamespacedName {
		c := g.current(name, uid)
		if c == nil {
			return nil
		}
		isKnown = g.answers.isComplete
		asked := *c
		asked.asked = true
		woken := g.answers.replace(name, &asked)
		if isKnown && !c.goes && !c.node.DeletionBegan {
			holders = g.answers.holders(name, namespaceGoes)
		}
		if isKnown && len(holders) == 0 {
			going := asked
			going.goes = true
			delete(g.answers.waiting, name)
			return append(woken, g.answers.replace(name, &going)...)
		}
		g.answers.waitForDeletion(name, holders, namespaceGoes)
		return append(woken, g.unrecorded(holders)...)
	})
	return holders, isKnown
}

// Cycle returns a shortest cycle of components that wait for each other with new inputs, beginning with a component;
// nil if the component is in no cycle. The caller must leave out the names of components that the identity of the
// component may not read.
func (g *Graph) Cycle(name types.NamespacedName) []Link {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.answers.cycle(name)
}

// Forget drops what passes have entered about a component that does not exist any more. A component that the informer
// has delivered stays.
func (g *Graph) Forget(name types.NamespacedName) {
	g.change(func() []types.NamespacedName {
		delete(g.answers.waiting, name)
		c, found := g.answers.components[name]
		switch {
		case !found:
			return nil
		case !c.isDelivered:
			return g.answers.delete(name)
		}
		next := *c
		next.entered, next.began = "", false
		return g.answers.replace(name, &next)
	})
}

// change calls a function with the lock, and then starts passes over the components that the function returns.
func (g *Graph) change(change func() []types.NamespacedName) {
	g.mu.Lock()
	woken := change()
	g.mu.Unlock()
	for _, name := range woken {
		g.wake(name)
	}
}

// known returns a copy of what is known about a component, or the zero value if the component has another UID.
func (g *Graph) known(name types.NamespacedName, uid types.UID) *component {
	if c := g.current(name, uid); c != nil {
		known := *c
		return &known
	}
	return &component{}
}

// current returns a component, nil if it does not exist or has another UID.
func (g *Graph) current(name types.NamespacedName, uid types.UID) *component {
	if c, found := g.answers.components[name]; found && c.node.UID == uid {
		return c
	}
	return nil
}

func (g *Graph) follow(name types.NamespacedName, uid types.UID) Answer {
	if g.current(name, uid) == nil {
		return Answer{}
	}
	answer := g.answers.follow(name)
	g.answers.wait(name, answer)
	return answer
}

// unrecorded returns the holders that have no recorded dependents.
func (g *Graph) unrecorded(holders []Holder) []types.NamespacedName {
	var found []types.NamespacedName
	for _, h := range holders {
		if !g.answers.components[h.Name].node.Holds {
			found = append(found, h.Name)
		}
	}
	return found
}

// isOlder reports whether a resource version is older than another one. It returns false if they cannot be compared.
func isOlder(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
