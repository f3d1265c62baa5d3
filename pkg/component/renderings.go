package component

import (
	"container/list"
	"sync"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/internal/packed"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// renderings are the last rendered sets of components, within a bound: those that were wanted least recently make room for others. What is
// not there any more is rendered again, or read from its record, as after a restart.
type renderings struct {
	limit int

	mu     sync.Mutex
	size   int
	byName map[types.NamespacedName]*list.Element
	// recent holds the newest first.
	recent list.List
}

// keptRendering is an entry of the list.
type keptRendering struct {
	name      types.NamespacedName
	rendering rendering
}

// newRenderings returns a store that takes so many bytes at the most.
func newRenderings(limit int) *renderings {
	return &renderings{limit: limit, byName: map[types.NamespacedName]*list.Element{}}
}

// get returns the last rendering of a component, and whether there is one.
func (s *renderings) get(name types.NamespacedName) (rendering, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	element, found := s.byName[name]
	if !found {
		return rendering{}, false
	}
	s.recent.MoveToFront(element)
	return entryOf(element).rendering, true
}

// put keeps a rendering in place of the one before. One that is larger than all that may be kept is not kept.
func (s *renderings) put(name types.NamespacedName, r rendering) {
	entry := keptRendering{name: name, rendering: r}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(s.byName[name])
	if entry.rendering.size > s.limit {
		return
	}
	s.byName[name] = s.recent.PushFront(entry)
	for s.size += entry.rendering.size; s.size > s.limit; {
		s.remove(s.recent.Back())
	}
}

// drop forgets a component.
func (s *renderings) drop(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(s.byName[name])
}

// remove takes an element out, if there is one. The caller holds the lock.
func (s *renderings) remove(element *list.Element) {
	if element == nil {
		return
	}
	entry := entryOf(element)
	s.recent.Remove(element)
	delete(s.byName, entry.name)
	s.size -= entry.rendering.size
}

func entryOf(element *list.Element) keptRendering {
	entry, _ := element.Value.(keptRendering)
	return entry
}

// nameSize is about what the texts of an object take besides its manifest: its name and its digest.
const nameSize = 96

// sizeOf returns how many bytes of memory the objects and the drafts of a rendering take.
func sizeOf(objects []manifests.Object, bodies drafted) int {
	contents := make([]packed.Manifest, 0, len(objects))
	for _, o := range objects {
		if m, ok := o.Packed.(packed.Manifest); ok {
			contents = append(contents, m)
		}
	}
	each := int(unsafe.Sizeof(manifests.Object{})+unsafe.Sizeof(packed.Manifest{})) + nameSize
	return len(objects)*each + packed.Size(contents) + packed.Size(bodies.packed)
}
