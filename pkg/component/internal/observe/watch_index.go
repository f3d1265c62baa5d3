package observe

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Place is a type in a namespace. Without a namespace, it is the type in all namespaces, or a cluster-scoped type.
type Place struct {
	Type      schema.GroupKind
	Namespace string
}

// watchIndex finds the watches on dependents: by resource, and by the name of the reader.
type watchIndex struct {
	perNamespace bool
	watches      map[Place]map[string]*dependentWatch
}

func newWatchIndex(perNamespace bool) watchIndex {
	return watchIndex{perNamespace: perNamespace, watches: map[Place]map[string]*dependentWatch{}}
}

// resourceOf returns the watched resource that contains an object.
func (i watchIndex) resourceOf(key manifests.Key) Place {
	if i.perNamespace {
		return Place{key.GroupKind(), key.Namespace}
	}
	return Place{Type: key.GroupKind()}
}

// watch returns the watch of a reader on a resource, or nil.
func (i watchIndex) watch(viewer Viewer, r Place) *dependentWatch { return i.watches[r][viewer.Name] }

// containing returns the watches of all readers that show an object if it exists.
func (i watchIndex) containing(key manifests.Key) map[string]*dependentWatch {
	return i.watches[i.resourceOf(key)]
}

func (i watchIndex) add(viewer Viewer, r Place, w *dependentWatch) {
	if i.watches[r] == nil {
		i.watches[r] = map[string]*dependentWatch{}
	}
	i.watches[r][viewer.Name] = w
}

func (i watchIndex) remove(viewer Viewer, r Place) {
	if delete(i.watches[r], viewer.Name); len(i.watches[r]) == 0 {
		delete(i.watches, r)
	}
}
