package component

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/schedule"
)

// memory is what this process knows of each component besides, until that is gone. It is lost with the process: what matters is recorded.
type memory struct {
	schedules table[schedule.State]
	contents  notes[map[observe.Reference]content]
	// prepared are the components, by their UIDs, whose deletion was prepared by the author's hook.
	prepared   notes[types.UID]
	suspects   notes[suspects]
	belongings notes[belongings]
	// recordedSets are the records of renderings that this process wrote or read, and wrotePhases the digests of those of phases that it wrote.
	recordedSets, wrotePhases notes[string]
	// strays are the components that may have records which no status names, by their kinds: of renderings, or of phases. True says that somebody
	// wrote or saw some, false that nobody could look. The maps are read-only.
	strays  notes[map[recordKind]bool]
	shelves notes[shelf]
	// leftovers are Secrets of former inventories, which are still to be deleted.
	leftovers notes[[]metav1.PartialObjectMetadata]
	// missed says of components that are being deleted what a rebuilt inventory may lack.
	missed notes[string]
	// unnamed are Secrets of inventories, by their names, that the sweep found, and that the status of their component did not name. The maps are
	// read-only.
	unnamed notes[map[string]metav1.PartialObjectMetadata]
}

// forget drops what is known of a component.
func (m *memory) forget(name types.NamespacedName) {
	m.schedules.forget(name)
	m.contents.forget(name)
	m.prepared.forget(name)
	m.suspects.forget(name)
	m.belongings.forget(name)
	m.recordedSets.forget(name)
	m.wrotePhases.forget(name)
	m.strays.forget(name)
	m.shelves.forget(name)
	m.leftovers.forget(name)
	m.missed.forget(name)
	m.unnamed.forget(name)
}

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

// without returns a copy of a map without a key: whoever has the former one may be reading it.
func without[K comparable, V any](all map[K]V, key K) map[K]V {
	rest := make(map[K]V, len(all))
	for k, v := range all {
		if k != key {
			rest[k] = v
		}
	}
	return rest
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

func (t *table[V]) forget(name types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byName, name)
}
