package rendering

import (
	"container/list"
	"sync"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/internal/packed"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// cache keeps the last rendered set of each component, within a limit of memory. The least recently used sets are
// evicted first. When a pass needs an evicted set, it is rendered again, or read from its record in Secrets, as after a
// restart.
type cache struct {
	limit int

	mu     sync.Mutex
	size   int
	byName map[types.NamespacedName]*list.Element
	// recent contains the entries in the order of their last use. The most recently used entry is first.
	recent list.List
}

// entry is an element of cache.recent.
type entry struct {
	name types.NamespacedName
	set  Set
}

// newCache returns a cache of at most limit bytes.
func newCache(limit int) *cache {
	return &cache{limit: limit, byName: map[types.NamespacedName]*list.Element{}}
}

// get returns the set of a component, and makes it the most recently used set.
func (c *cache) get(name types.NamespacedName) (Set, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, found := c.byName[name]
	if !found {
		return Set{}, false
	}
	c.recent.MoveToFront(element)
	return entryOf(element).set, true
}

// put replaces the set of a component. A set that is larger than the limit of the cache is not stored.
func (c *cache) put(name types.NamespacedName, s Set) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.byName[name])
	if s.size > c.limit {
		return
	}
	c.byName[name] = c.recent.PushFront(entry{name: name, set: s})
	for c.size += s.size; c.size > c.limit; {
		c.remove(c.recent.Back())
	}
}

// outdate marks the set of a component as outdated; see Set.
func (c *cache) outdate(name types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, found := c.byName[name]; found {
		e := entryOf(element)
		e.set.outdated = true
		element.Value = e
	}
}

// drop removes the set of a component.
func (c *cache) drop(name types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.byName[name])
}

// remove removes an element. It does nothing if element is nil. The caller holds the lock.
func (c *cache) remove(element *list.Element) {
	if element == nil {
		return
	}
	e := entryOf(element)
	c.recent.Remove(element)
	delete(c.byName, e.name)
	c.size -= e.set.size
}

func entryOf(element *list.Element) entry {
	e, _ := element.Value.(entry)
	return e
}

// nameSize is an estimate of the memory, in bytes, that the name and the digest of an object take in addition to its
// manifest.
const nameSize = 96

// sizeOf returns the memory that the objects and the manifests of a set take, in bytes.
func sizeOf(objects []manifests.Object, m Manifests) int {
	contents := make([]packed.Manifest, 0, len(objects))
	for _, o := range objects {
		if c, ok := o.Packed.(packed.Manifest); ok {
			contents = append(contents, c)
		}
	}
	each := int(unsafe.Sizeof(manifests.Object{})+unsafe.Sizeof(packed.Manifest{})) + nameSize
	return len(objects)*each + packed.Size(contents) + packed.Size(m.packed)
}
