package component

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/schedule"
)

// memory is what this process knows of each component besides, until that is gone. It is lost with the process: what matters is recorded.
type memory struct {
	objects   objectMemories
	schedules table[schedule.State]
	contents  notes[map[observe.Reference]content]
	// prepared are the components, by their UIDs, whose deletion was prepared by the author's hook.
	prepared notes[types.UID]
	suspects notes[suspects]
	// secrets are the records of components.
	secrets table[records.Memory]
	shelves notes[shelf]
	// missed says of components that are being deleted what a rebuilt inventory may lack.
	missed notes[string]
}

// forget drops what is known of a component.
func (m *memory) forget(name types.NamespacedName) {
	m.objects.forget(name)
	m.schedules.forget(name)
	m.contents.forget(name)
	m.prepared.forget(name)
	m.suspects.forget(name)
	m.secrets.forget(name)
	m.shelves.forget(name)
	m.missed.forget(name)
}

// objectMemories implements components.Memories.
type objectMemories struct{ table[components.Memory] }

// Of implements components.Memories.
func (m *objectMemories) Of(name types.NamespacedName) *components.Memory { return m.of(name) }

// Known implements components.Memories.
func (m *objectMemories) Known(name types.NamespacedName) *components.Memory { return m.known(name) }

// notes are what this process knows of components, one note each, until they are gone. The zero value is ready for use, by many at once.
type notes[V any] struct {
	mu    sync.Mutex
	known map[types.NamespacedName]V
}

// lookup returns the note on a component, and whether there is one.
func (n *notes[V]) lookup(name types.NamespacedName) (V, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	note, found := n.known[name]
	return note, found
}

// of returns the note on a component, the zero value where there is none.
func (n *notes[V]) of(name types.NamespacedName) V {
	note, _ := n.lookup(name)
	return note
}

// enter replaces the note on a component.
func (n *notes[V]) enter(name types.NamespacedName, note V) {
	n.change(name, func(V) (V, bool) { return note, true })
}

// change makes another note of the one that there is, or the zero value; none, where keep says so.
func (n *notes[V]) change(name types.NamespacedName, by func(V) (note V, keep bool)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	note, keep := by(n.known[name])
	if !keep {
		delete(n.known, name)
		return
	}
	if n.known == nil {
		n.known = map[types.NamespacedName]V{}
	}
	n.known[name] = note
}

func (n *notes[V]) forget(name types.NamespacedName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.known, name)
}

// table holds a part of the memory of each component. The zero value is ready to use, concurrently.
type table[V any] struct {
	mu     sync.Mutex
	byName map[types.NamespacedName]*V
}

// of returns the part of a component, a new one at first.
func (t *table[V]) of(name types.NamespacedName) *V {
	t.mu.Lock()
	defer t.mu.Unlock()
	if part, found := t.byName[name]; found {
		return part
	}
	if t.byName == nil {
		t.byName = map[types.NamespacedName]*V{}
	}
	part := new(V)
	t.byName[name] = part
	return part
}

// known returns the part of a component, nil if there is none.
func (t *table[V]) known(name types.NamespacedName) *V {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byName[name]
}

func (t *table[V]) forget(name types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byName, name)
}
