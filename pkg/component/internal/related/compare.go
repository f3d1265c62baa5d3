package related

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
)

// severalVersions is the digest of the last version that was read, if components read different ones. It equals no
// digest.
const severalVersions = "several versions"

// maxComparing is the number of objects of an informer that are read at the same time to compare them.
const maxComparing = 4

// comparisonResult is the result of a comparison. It tells which components of an object are woken.
type comparisonResult string

// The results.
const (
	// resultKnown: the components were woken before.
	resultKnown comparisonResult = "known"
	// resultUnused: no component is related to the object. A component that is related later reads it.
	resultUnused comparisonResult = "unused"
	// resultEqual: the version equals the last one that was read.
	resultEqual comparisonResult = "equal"
	// resultFiltered: a filter of the author leaves the watch event out.
	resultFiltered comparisonResult = "filtered"
	// resultDiffers: all components of the object are woken.
	resultDiffers comparisonResult = "differs"
	// resultUnread: the version has to be read before it can be compared.
	resultUnread comparisonResult = "unread"
	// resultFirst: no version was read before, so all components are woken, and the version is read for later
	// comparisons.
	resultFirst comparisonResult = "first"
)

// comparison finds out whether a version of an object differs, for its components, from the last version that was read.
// It decides, and keeps its results in the objects. The informer wakes components, and reads the objects that the
// comparison requests. A comparison is not safe for concurrent use.
type comparison struct {
	convert converter
	// requested are the objects that have to be read, and running is the number of goroutines that read them.
	requested map[client.ObjectKey]bool
	running   int
}

// ofEvent compares a new version of an object with the one before, which is nil for a new object. isUsed is set if
// components are related to one of them.
func (c *comparison) ofEvent(before, after *object, isUsed bool) comparisonResult {
	after.compared.digest = after.digest
	switch {
	case before == nil && c.passes(c.convert.options.Added, after):
		return resultDiffers
	case before == nil:
		return resultFiltered
	case after.needsRead() && !isUsed:
		return resultUnused
	case after.needsRead():
		return c.ofUnread(before, after)
	case after.partErr == nil && before.compared.digest == after.digest:
		return resultEqual
	case before.compared.isUnread || c.counts(before, after):
		return resultDiffers
	}
	return resultFiltered
}

// ofUnread requests that a version without a digest is read, unless it is filtered.
func (c *comparison) ofUnread(before, after *object) comparisonResult {
	after.compared.digest = before.compared.digest
	after.compared.isUnread = before.compared.isUnread || c.counts(before, after)
	switch {
	case !after.compared.isUnread:
		return resultFiltered
	case after.compared.digest == "":
		return resultFirst
	}
	return resultUnread
}

// ofRead compares the current version of an object, after it was read.
func (c *comparison) ofRead(stored, read *object) comparisonResult {
	previous, isUnread := stored.compared.digest, stored.compared.isUnread
	stored.compared.digest, stored.compared.isUnread = read.digest, false
	switch {
	case !isUnread, previous == "":
		return resultKnown
	case previous == read.digest:
		return resultEqual
	}
	return resultDiffers
}

// ofOlder compares a version that was read, and is older than the stored one.
func (c *comparison) ofOlder(stored, read *object) comparisonResult {
	switch {
	case stored.compared.digest == read.digest:
		return resultKnown
	case stored.compared.isUnread:
		stored.compared.digest = severalVersions
		return resultKnown
	}
	// A component read a version between those that were compared. It must see the current one, too.
	return resultDiffers
}

// ofFailure ends the comparison of a version that could not be read.
func (c *comparison) ofFailure(stored *object) comparisonResult {
	previous := stored.compared.digest
	stored.compared.digest, stored.compared.isUnread = "", false
	if previous == "" {
		return resultKnown
	}
	return resultDiffers
}

// request requests that an object is read. It returns the number of further goroutines that have to begin to read.
func (c *comparison) request(key client.ObjectKey) (readers int) {
	c.requested[key] = true
	if c.running == maxComparing {
		return 0
	}
	c.running++
	return 1
}

// next returns a requested object. If there is none, the goroutine that asks ends.
func (c *comparison) next() (key client.ObjectKey, found bool) {
	for requested := range c.requested {
		delete(c.requested, requested)
		return requested, true
	}
	c.running--
	return key, false
}

// counts reports whether an update counts for the filter of the author.
func (c *comparison) counts(before, after *object) bool {
	changed := c.convert.options.Changed
	return changed == nil || !c.isShown(before) || c.call(func() bool { return changed(c.shown(before), c.shown(after)) })
}

// passes reports whether a created or deleted object counts for a filter of the author, which may be nil. The object is
// nil if it is not known.
func (c *comparison) passes(filter func(client.Object) bool, o *object) bool {
	return filter == nil || !c.isShown(o) || c.call(func() bool { return filter(c.shown(o)) })
}

// isShown reports whether an object can be shown to filters. A watch event of an object whose body was dropped counts,
// because filters would see an empty object.
func (c *comparison) isShown(o *object) bool {
	options := c.convert.options
	return o != nil && (o.body != nil || !options.Whole || options.MetadataOnly)
}

// call calls a filter of the author. After a panic of the filter, an unnecessary pass does no harm.
func (c *comparison) call(filter func() bool) bool {
	passed := true
	err := eventsources.CallAuthor(c.convert.run, func(context.Context) error {
		passed = filter()
		return nil
	})
	return passed || err != nil
}

// shown returns a copy of an object for a filter.
func (c *comparison) shown(o *object) client.Object {
	shown := c.convert.argument(o)
	if copied, err := copyOf(shown); err == nil {
		return copied
	}
	return shown
}

// changedRelations returns the components to which an object is related in one of two versions only. A new object, for
// which before is nil, has none.
func changedRelations(before, after *object) names {
	changed := names{}
	if before == nil {
		return changed
	}
	for _, name := range slices.Concat(before.components, after.components) {
		if slices.Contains(before.components, name) != slices.Contains(after.components, name) {
			changed[name] = true
		}
	}
	return changed
}
