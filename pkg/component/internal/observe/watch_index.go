package observe

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// WatchedResource is a type in a namespace. If Namespace is empty, it is the type in all namespaces, or a
// cluster-scoped type.
type WatchedResource struct {
	Type      schema.GroupKind
	Namespace string
}

// watchIndex finds the watches on dependents: by resource, and by the name of the reader.
type watchIndex struct {
	perNamespace bool
	watches      map[WatchedResource]map[string]*dependentWatch
}

func newWatchIndex(perNamespace bool) watchIndex {
	return watchIndex{perNamespace: perNamespace, watches: map[WatchedResource]map[string]*dependentWatch{}}
}

// resourceOf returns the watched resource that contains an object.
func (i watchIndex) resourceOf(key manifests.Key) WatchedResource {
	if i.perNamespace {
		return WatchedResource{key.GroupKind(), key.Namespace}
	}
	return WatchedResource{Type: key.GroupKind()}
}

// watch returns the watch of a reader on a resource, or nil.
func (i watchIndex) watch(reader Reader, r WatchedResource) *dependentWatch {
	return i.watches[r][reader.Name]
}

// containing returns the watches of all readers on the resource of an object, by the names of the readers.
func (i watchIndex) containing(key manifests.Key) map[string]*dependentWatch {
	return i.watches[i.resourceOf(key)]
}

func (i watchIndex) add(reader Reader, r WatchedResource, w *dependentWatch) {
	if i.watches[r] == nil {
		i.watches[r] = map[string]*dependentWatch{}
	}
	i.watches[r][reader.Name] = w
}

func (i watchIndex) remove(reader Reader, r WatchedResource) {
	if delete(i.watches[r], reader.Name); len(i.watches[r]) == 0 {
		delete(i.watches, r)
	}
}

// state returns the state of an object. It returns the argument absent if a watch that is in sync does not show the
// object. A stored state is replaced, never changed, so the result may be read without the lock. The caller of state
// holds the lock.
func (i watchIndex) state(reader Reader, key manifests.Key, absent *plan.Observed) *plan.Observed {
	w := i.watch(reader, i.resourceOf(key))
	switch {
	case w == nil:
		return new(plan.NotObserved())
	case w.reason != plan.WaitNone:
		return &plan.Observed{Presence: plan.Unknown, Reason: w.reason, Message: w.message}
	}
	if stored, ok := w.objects.observed[key]; ok {
		return stored
	}
	return absent
}
