package target

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Turns shares slots fairly among namespaces. The work that needs a slot is identified by a namespace and a name. All
// namespaces together have at most total slots, and each namespace at most each. A free slot goes to the waiting
// namespace that has the fewest slots. Among several such namespaces, it goes to the name that has waited longest.
// Nothing blocks while it waits for a slot: the slot is kept, and the function granted is called.
//
// A nil pointer to Turns has an unlimited number of slots.
type Turns struct {
	total, each int
	granted     func(types.NamespacedName)

	mu sync.Mutex
	// slots are the used and the kept slots, by namespace. used is their number.
	slots map[string]int
	used  int
	// waiting are the names without a slot, in the order of their arrival.
	waiting []types.NamespacedName
	turns   map[types.NamespacedName]*turn
}

// turn is the state of a name that waits for a slot, or has a slot.
type turn struct {
	// hasSlot is set if the name has a slot, and taken if the name also uses the slot.
	hasSlot, taken bool
	// wanted is set if Take was called after the last EndPass.
	wanted bool
}

// NewTurns returns Turns. The function granted is called with a name that waited and has a slot now. granted must not
// block.
func NewTurns(total, each int, granted func(types.NamespacedName)) *Turns {
	return &Turns{
		total: total, each: each, granted: granted,
		slots: map[string]int{}, turns: map[types.NamespacedName]*turn{},
	}
}

// Take takes a slot, and reports whether the name has a slot. If no slot is free, the name waits for a slot, and the
// next call of Take after the call of granted succeeds.
func (t *Turns) Take(name types.NamespacedName) bool {
	if t == nil {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	found, known := t.turns[name]
	if !known {
		found = &turn{}
		t.turns[name] = found
		if t.isFree(name.Namespace) {
			t.give(name)
		} else {
			t.waiting = append(t.waiting, name)
		}
	}
	found.wanted, found.taken = true, found.hasSlot
	return found.taken
}

// EndPass is called at the end of a pass. It returns the slot that the pass took. If the pass did not call Take, the
// component does not need a slot any more, and loses a kept slot or its place among the waiting.
func (t *Turns) EndPass(name types.NamespacedName) {
	if t == nil {
		return
	}
	t.mu.Lock()
	found, known := t.turns[name]
	keeps := known && found.wanted && !found.taken
	if keeps {
		found.wanted = false
	}
	t.mu.Unlock()
	if known && !keeps {
		t.Release(name)
	}
}

// Release returns the slot of a name, or ends its wait.
func (t *Turns) Release(name types.NamespacedName) {
	t.mu.Lock()
	next := t.remove(name)
	t.mu.Unlock()
	for _, name := range next {
		t.granted(name)
	}
}

// remove removes a name, and returns the names that get a slot instead. The caller holds the lock.
func (t *Turns) remove(name types.NamespacedName) []types.NamespacedName {
	found, known := t.turns[name]
	if !known {
		return nil
	}
	delete(t.turns, name)
	if !found.hasSlot {
		t.waiting = slices.DeleteFunc(t.waiting, func(other types.NamespacedName) bool { return other == name })
		return nil
	}
	t.used--
	if t.slots[name.Namespace]--; t.slots[name.Namespace] == 0 {
		delete(t.slots, name.Namespace)
	}
	return t.passOn()
}

// passOn gives the free slots to waiting names, and returns these names. The caller holds the lock.
func (t *Turns) passOn() []types.NamespacedName {
	var next []types.NamespacedName
	for {
		at := t.nextWaiting()
		if at < 0 {
			return next
		}
		name := t.waiting[at]
		t.waiting = slices.Delete(t.waiting, at, at+1)
		t.give(name)
		next = append(next, name)
	}
}

// nextWaiting returns the index of the waiting name that gets the next slot, or -1. The caller holds the lock.
func (t *Turns) nextWaiting() int {
	next := -1
	for at, name := range t.waiting {
		fewer := next < 0 || t.slots[name.Namespace] < t.slots[t.waiting[next].Namespace]
		if fewer && t.isFree(name.Namespace) {
			next = at
		}
	}
	return next
}

// isFree reports whether a namespace may have another slot. The caller holds the lock.
func (t *Turns) isFree(namespace string) bool { return t.used < t.total && t.slots[namespace] < t.each }

// give gives a slot to a name. The caller holds the lock.
func (t *Turns) give(name types.NamespacedName) {
	t.turns[name].hasSlot = true
	t.slots[name.Namespace]++
	t.used++
}
