package dependencies

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Answer is what is known about the dependencies of a component.
type Answer struct {
	// IsKnown is false if the component was deleted or created again since the pass began, or if Complete was not called
	// yet. The pass must then end. Another pass follows.
	IsKnown bool
	// States are the states of the dependencies, in the order of the edges.
	States []State
}

// Permits reports whether new inputs may be applied.
func (a Answer) Permits() bool {
	return a.IsKnown && !slices.ContainsFunc(a.States, func(s State) bool { return !s.Permits() })
}

// needsPass reports whether a component that was told an answer needs a pass now: because it can go on, or because it
// waits for a cause that it was not told. If some causes end and others stay, no pass is needed. So a component
// with many dependencies does not make a pass for each of them.
func (a Answer) needsPass(now Answer) bool {
	switch {
	case a.IsKnown != now.IsKnown, len(a.States) != len(now.States):
		return true
	case now.Permits():
		return !slices.Equal(a.States, now.States)
	}
	for i, s := range now.States {
		if s.Edge != a.States[i].Edge || !s.Permits() && s.Cause != a.States[i].Cause {
			return true
		}
	}
	return false
}

// question is what a component waits for.
type question struct {
	// told is the answer that the component got. For a deletion, it has no states.
	told Answer
	// held is set if the component waits for its deletion, and not with new inputs.
	held *held
}

// answers contains the network, and the components that wait for another answer. It has no lock.
type answers struct {
	*network
	// isComplete is set if the network contains all components.
	isComplete bool
	waiting    map[types.NamespacedName]question
}

// follow answers for a component that waits with new inputs. The component must exist.
func (a *answers) follow(name types.NamespacedName) Answer {
	if !a.isComplete {
		return Answer{}
	}
	return Answer{true, a.states(name)}
}

// wait makes a component wait for another answer than that of follow.
func (a *answers) wait(name types.NamespacedName, told Answer) {
	a.waiting[name] = question{told: told}
}

// waitForDeletion makes a component wait for other holders.
func (a *answers) waitForDeletion(name types.NamespacedName, holders []Holder, namespaceGoes bool) {
	h := &held{namespaceGoes: namespaceGoes}
	h.replace(holders)
	h.tell()
	a.waiting[name] = question{Answer{IsKnown: a.isComplete}, h}
}

// replace replaces a component. It returns the components that need a pass because of this, sorted.
func (a *answers) replace(name types.NamespacedName, next *component) []types.NamespacedName {
	old, found := a.components[name]
	if !found || !next.hasEqualEffect(old) {
		return a.change(name, !found || !next.hasEqualNeeds(old), func() { a.put(name, next) })
	}
	a.components[name] = next
	if len(a.waiting) == 0 || next.node.Health == old.node.Health {
		return nil
	}
	affected := names{}
	a.addWaiting(affected, a.followers[name])
	return a.renew(affected, name)
}

// delete removes a component, like replace.
func (a *answers) delete(name types.NamespacedName) []types.NamespacedName {
	return a.change(name, true, func() { a.remove(name) })
}

// change calls a function that changes a component, like replace. needs is set if it changes the graph of new inputs.
func (a *answers) change(name types.NamespacedName, needs bool, change func()) []types.NamespacedName {
	if len(a.waiting) == 0 {
		change()
		return nil
	}
	affected := names{}
	a.addNear(affected, name)
	isEntangled := a.isEntangled(name, needs)
	change()
	if isEntangled || a.isEntangled(name, needs) {
		return a.renewAll()
	}
	a.addNear(affected, name)
	return a.renew(affected, name)
}

// addNear adds a component, its followers and the components that it depends on, if they wait.
func (a *answers) addNear(affected names, name types.NamespacedName) {
	near := names{name: {}}
	if c, exists := a.components[name]; exists {
		for _, on := range c.targets() {
			near.add(on)
		}
	}
	a.addWaiting(affected, near)
	a.addWaiting(affected, a.followers[name])
}

func (a *answers) addWaiting(affected, near names) {
	for name := range near {
		if _, waits := a.waiting[name]; waits {
			affected.add(name)
		}
	}
}

// isEntangled reports whether a component can have an effect on components that have no edge to or from it: it is in a
// cycle, or has children, which end with it. needs is set if cycles in the graph of new inputs count, too.
func (a *answers) isEntangled(name types.NamespacedName, needs bool) bool {
	c, exists := a.components[name]
	if !exists || !a.mayBeInCycle(name) {
		return false
	}
	isInSet := func(s *sets, v vertex) bool {
		return slices.ContainsFunc(s.with(v), func(other vertex) bool { return other.name != name })
	}
	isInCycle := func(s *sets) bool { return isInSet(s, startOf(name)) || isInSet(s, endOf(name)) }
	return len(c.children) > 0 || isInCycle(a.deletingSets()) || needs && isInCycle(a.applyingSets())
}

// renewAll answers the questions of all components that wait again, like renew.
func (a *answers) renewAll() []types.NamespacedName {
	needPass := names{}
	for name, q := range a.waiting {
		if a.isComplete && q.held != nil && a.exists(name) {
			q.held.replace(a.holders(name, q.held.namespaceGoes))
		}
		a.renewOne(needPass, name)
	}
	return needPass.sorted()
}

// renew answers the questions of components that wait again, after a change of one component. It returns the components
// that need a pass, sorted, and keeps what they are told.
func (a *answers) renew(affected names, changed types.NamespacedName) []types.NamespacedName {
	needPass := names{}
	for name := range affected {
		q := a.waiting[name]
		switch {
		case q.held == nil || !a.isComplete || !a.exists(name):
		case name == changed:
			q.held.replace(a.holders(name, q.held.namespaceGoes))
		default:
			holder, blocks := a.holder(changed, name, q.held.namespaceGoes)
			holder.Name = changed
			q.held.set(holder, blocks)
		}
		a.renewOne(needPass, name)
	}
	return needPass.sorted()
}

// renewOne adds a component that waits to others if it needs a pass. Its holders must be up to date. A component that
// does not exist any more does not wait.
func (a *answers) renewOne(needPass names, name types.NamespacedName) {
	q := a.waiting[name]
	if !a.exists(name) {
		delete(a.waiting, name)
		return
	}
	now := Answer{IsKnown: a.isComplete}
	if q.held == nil {
		now = a.follow(name)
	}
	if q.told.needsPass(now) || q.held != nil && q.held.needsPass() {
		needPass.add(name)
		if q.told = now; q.held != nil {
			q.held.tell()
		}
		a.waiting[name] = q
	}
}

func (a *answers) exists(name types.NamespacedName) bool {
	_, exists := a.components[name]
	return exists
}
