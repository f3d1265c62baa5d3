package related

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
)

// versions contains the last version of each object of an informer, and decides what another version means. It is not
// safe for concurrent use, and does nothing but call the filters of the author: its results are effects.
type versions struct {
	options    *Options
	objects    map[client.ObjectKey]*object
	index      index
	writes     writes
	comparison comparison
	// synced is set when all objects were listed. No component is woken before.
	synced bool
}

// effects are what has to be done after a change of an object.
type effects struct {
	// wake are the components that need a pass.
	wake []types.NamespacedName
	// equal, filtered and failed are the numbers of results to count.
	equal, filtered, failed int
	// readers is the number of goroutines that have to begin to read the requested objects.
	readers int
}

// add adds the effects of another change.
func (e *effects) add(other effects) {
	e.wake = append(e.wake, other.wake...)
	e.equal += other.equal
	e.filtered += other.filtered
	e.failed += other.failed
	e.readers += other.readers
}

// change is a change of an object.
type change struct {
	key client.ObjectKey
	// before is nil if the object is new, or if its relations are those of after. after is nil if it was deleted.
	before, after *object
	// writer is the component that made the change, if it is known.
	writer types.NamespacedName
}

func newVersions(convert converter) versions {
	return versions{
		options: convert.options, objects: map[client.ObjectKey]*object{}, writes: writes{},
		index:      index{all: convert.options.All, users: names{}, byObject: relations{}, byComponent: relations{}},
		comparison: comparison{convert: convert, requested: map[client.ObjectKey]bool{}},
	}
}

// observe stores an object of a list or a watch. If the body of the previous version is not in memory, this one is not
// wanted either.
func (v *versions) observe(incoming *object) effects {
	stored := v.objects[client.ObjectKeyFromObject(incoming.meta)]
	switch {
	case stored == nil:
	case stored.body == nil:
		incoming.body = nil
		incoming.compared.bodyWasKept = stored.compared.isUnread && stored.compared.bodyWasKept
	default:
		incoming.touched, incoming.compared.bodyWasKept = stored.touched, true
	}
	return v.put(incoming, types.NamespacedName{})
}

// put stores an object, and wakes the components whose value differs, except the component that wrote it.
func (v *versions) put(incoming *object, writer types.NamespacedName) effects {
	key := client.ObjectKeyFromObject(incoming.meta)
	stored := v.objects[key]
	switch {
	case stored != nil && stored.version() == incoming.version():
		return v.complete(key, stored, incoming, writer)
	case stored != nil && inspect.Newer(stored.version(), incoming.version()):
		return effects{}
	}
	v.objects[key] = incoming
	var previous []types.NamespacedName
	if stored != nil {
		previous = stored.components
	}
	v.index.byComponent.replace(key, previous, incoming.components)
	found := v.comparison.ofEvent(stored, incoming, v.index.isUsed(key, stored, incoming))
	return v.follow(found, change{key, stored, incoming, writer})
}

// complete stores the body and the digest of the current version of an object.
func (v *versions) complete(key client.ObjectKey, stored, read *object, writer types.NamespacedName) effects {
	if read.needsRead() {
		return effects{} // A watch event of a version that is known.
	}
	stored.digest, stored.partErr = read.digest, read.partErr
	found := v.comparison.ofRead(stored, read)
	// No component reads an equal version, so its body is kept only if the body before was.
	if found != resultEqual || stored.compared.bodyWasKept {
		stored.body = read.body
	}
	if found != resultEqual {
		stored.touched = read.touched
	}
	return v.follow(found, change{key: key, after: stored, writer: writer})
}

// storeRead stores an object that was read. A version that the watch has not shown yet is stored like a watch event, so
// that it is not read again.
func (v *versions) storeRead(key client.ObjectKey, read *object) effects {
	stored := v.objects[key]
	switch {
	case stored == nil: // It was deleted.
		return effects{}
	case stored.version() == read.version() || !inspect.Newer(stored.version(), read.version()):
		return v.put(read, types.NamespacedName{})
	}
	return v.follow(v.comparison.ofOlder(stored, read), change{key: key, after: stored})
}

// remove removes an object, and wakes its components. last is its state at the deletion; nil if it is not known.
func (v *versions) remove(key client.ObjectKey, last *object) effects {
	stored := v.objects[key]
	delete(v.objects, key)
	v.index.byComponent.replace(key, stored.components, nil)
	if v.comparison.passes(v.options.Deleted, last) {
		return effects{wake: v.toWake(v.index.relatedTo(key, stored), change{key: key})}
	}
	return effects{filtered: 1}
}

// endWrite ends a write of a component, and stores the version that was written. written is nil if it is not known.
func (v *versions) endWrite(name types.NamespacedName, key client.ObjectKey, written *object) (e effects) {
	for _, version := range v.writes.end(key, name) {
		if written == nil || version != written.version() {
			e.wake = append(e.wake, name)
		}
	}
	if written == nil {
		return e
	}
	if stored := v.objects[key]; stored != nil && stored.meta.UID == written.meta.UID &&
		inspect.Newer(stored.version(), written.version()) {
		return e
	}
	e.add(v.put(written, name))
	return e
}

// follow returns the effects of a comparison.
func (v *versions) follow(found comparisonResult, c change) (e effects) {
	switch found {
	case resultKnown, resultUnused:
	case resultDiffers:
		e.wake = v.toWake(v.index.relatedTo(c.key, c.before, c.after), c)
	case resultEqual:
		e.equal = 1
		e.wake = v.toWake(changedRelations(c.before, c.after), c)
	case resultFiltered:
		e.filtered = 1
		e.wake = v.toWake(changedRelations(c.before, c.after), c)
	case resultFirst:
		e.wake = v.toWake(v.index.relatedTo(c.key, c.before, c.after), c)
		e.readers = v.comparison.request(c.key)
	case resultUnread:
		for name := range v.index.relatedTo(c.key, c.before, c.after) {
			// The version may be that of a write whose response is not known yet.
			v.writes.hold(c.key, name, c.after.version())
		}
		e.wake = v.toWake(changedRelations(c.before, c.after), c)
		e.readers = v.comparison.request(c.key)
	}
	return e
}

// toWake returns those of the components that a change wakes.
func (v *versions) toWake(related names, c change) (woken []types.NamespacedName) {
	for name := range related {
		switch {
		case !v.index.users[name] || !v.synced || name == c.writer:
		case v.writes.hold(c.key, name, c.after.version()):
		default:
			woken = append(woken, name)
		}
	}
	return woken
}

// keysOf returns the existing objects of a component, sorted. of are the objects that the component names.
func (v *versions) keysOf(name types.NamespacedName, of []client.ObjectKey) []client.ObjectKey {
	if v.index.all {
		return slices.SortedFunc(maps.Keys(v.objects), compareKeys)
	}
	keys := names{}
	maps.Copy(keys, v.index.byComponent[name])
	for _, key := range of {
		if v.objects[key] != nil {
			keys[key] = true
		}
	}
	return slices.SortedFunc(maps.Keys(keys), compareKeys)
}
