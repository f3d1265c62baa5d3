package sources

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
)

// maxComparers is the number of objects of an informer that are read at the same time to compare them.
const maxComparers = 4

// mixed is the digest of the last version that was read, if components read different ones. It equals no digest.
const mixed = "mixed"

// compare wakes the components for which a new version of an object differs from the one before, which is nil for a new
// object. A version without a digest is read first, once for all components. The caller holds the lock.
func (i *informer) compare(key client.ObjectKey, before, after *object, writer types.NamespacedName) {
	after.compared = after.digest
	switch {
	case before == nil && i.passes(i.related.options.Added, after):
		i.wake(key, i.relatedTo(key, after), after, writer)
		return
	case before == nil:
		i.related.host.tally.add(ResultEqual, 1)
		return
	case after.digest == "":
		after.compared = before.compared
		i.compareLater(key, before, after)
	case before.compared == after.digest:
		i.related.host.tally.add(ResultEqual, 1)
	case before.unread || i.counts(before, after):
		i.wake(key, i.relatedTo(key, before, after), after, writer)
		return
	}
	i.wake(key, moved(before, after), after, writer)
}

// moved returns the components to which an object is related in one of two versions only.
func moved(before, after *object) map[types.NamespacedName]bool {
	names := map[types.NamespacedName]bool{}
	for _, name := range slices.Concat(before.components, after.components) {
		if slices.Contains(before.components, name) != slices.Contains(after.components, name) {
			names[name] = true
		}
	}
	return names
}

// compareLater requests that a version without a digest is read. If no version was read before, the components do not
// wait for that. The caller holds the lock.
func (i *informer) compareLater(key client.ObjectKey, before, after *object) {
	after.unread = before.unread || i.counts(before, after)
	if !after.unread {
		return
	}
	names := i.relatedTo(key, before, after)
	if after.compared == "" {
		i.wake(key, names, after, types.NamespacedName{})
	} else if w := i.writes[key]; w != nil {
		// The version may be that of a write whose response is not known yet.
		for name := range w.by {
			if names[name] {
				w.hold(name, after)
			}
		}
	}
	i.changed[key] = true
	if i.comparers < maxComparers {
		i.comparers++
		go i.compareAll()
	}
}

// compareAll reads objects until no change is left that has to be compared.
func (i *informer) compareAll() {
	for {
		key, version, found := i.nextChanged()
		if !found {
			return
		}
		_, err := i.read(i.run, key)
		i.giveUp(key, version, err)
	}
}

// nextChanged returns an object that has to be read, and its version.
func (i *informer) nextChanged() (key client.ObjectKey, version string, found bool) {
	i.related.mu.Lock()
	defer i.related.mu.Unlock()
	for key := range i.changed {
		delete(i.changed, key)
		if o := i.objects[key]; o != nil && o.unread && i.run.Err() == nil {
			return key, o.version(), true
		}
	}
	i.comparers--
	return key, "", false
}

// giveUp wakes the components of an object if its version was not compared, because the read failed, or returned an
// older version.
func (i *informer) giveUp(key client.ObjectKey, version string, err error) {
	i.related.mu.Lock()
	defer i.related.mu.Unlock()
	o := i.objects[key]
	if o == nil || !o.unread || o.version() != version || i.run.Err() != nil {
		return
	}
	if err != nil && !apierrors.IsNotFound(err) {
		i.related.host.tally.add(ResultFailed, 1)
	}
	if o.compared != "" {
		i.wake(key, i.relatedTo(key, o), o, types.NamespacedName{})
	}
	o.compared, o.unread = "", false
}

// keep stores an object that was read. A version that the watch has not shown yet is stored like an event, so that it
// is not read again. The caller holds the lock.
func (i *informer) keep(key client.ObjectKey, read *object) {
	stored := i.objects[key]
	switch {
	case stored == nil: // It was deleted.
	case stored.version() == read.version() || !inspect.Newer(stored.version(), read.version()):
		i.put(read, types.NamespacedName{})
	case stored.compared == read.digest:
	case stored.unread:
		stored.compared = mixed
	default:
		// A pass reads a version between those that were compared. It must see the current one, too.
		i.wake(key, i.relatedTo(key, stored), stored, types.NamespacedName{})
	}
}

// learn stores the body and the digest of the current version of an object. If this version had to be compared, learn
// wakes the components if it differs, except the component that wrote it. The caller holds the lock.
func (i *informer) learn(key client.ObjectKey, stored, read *object, writer types.NamespacedName) {
	if read.digest == "" {
		return // An event of a version that is known.
	}
	former, isEqual := stored.compared, stored.compared == read.digest
	if !stored.unread || !isEqual || stored.wanted {
		stored.body = read.body
	}
	if !stored.unread || !isEqual {
		stored.touched = read.touched
	}
	unread := stored.unread
	stored.digest, stored.compared, stored.unread = read.digest, read.digest, false
	switch {
	case !unread, former == "": // The components were woken before the version was read.
	case isEqual:
		i.related.host.tally.add(ResultEqual, 1)
	default:
		i.wake(key, i.relatedTo(key, stored), stored, writer)
	}
}

// counts reports whether an update counts for the filter of the author. The caller holds the lock.
func (i *informer) counts(before, after *object) bool {
	changed := i.related.options.Changed
	return changed == nil || i.filter(func() bool { return changed(i.shown(before), i.shown(after)) })
}

// passes reports whether a created or deleted object counts for a filter of the author, which may be nil. The caller
// holds the lock.
func (i *informer) passes(filter func(client.Object) bool, o *object) bool {
	return filter == nil || i.filter(func() bool { return filter(i.shown(o)) })
}

// filter calls a filter of the author. After a panic of the filter, an unnecessary pass does no harm.
func (i *informer) filter(call func() bool) bool {
	passed := true
	err := contain(i.related.run, func(context.Context) error {
		passed = call()
		return nil
	})
	return passed || err != nil
}

// shown returns a copy of an object for a filter.
func (i *informer) shown(o *object) client.Object {
	from := client.Object(o.meta)
	if o.body != nil && i.related.options.Whole {
		from = o.body
	}
	if copied, ok := i.argument(from).DeepCopyObject().(client.Object); ok {
		return copied
	}
	return i.argument(from)
}
