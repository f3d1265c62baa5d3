package observe

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Viewer is who watches. The zero Viewer is the one that an Observer, or References, were made for.
type Viewer struct {
	// Name tells a viewer from all others.
	Name     string
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
}

// Place is what a watch reaches: the objects of a type in a namespace. Without a namespace, these are all of the type.
type Place struct {
	Type      schema.GroupKind
	Namespace string
}

// PlaceOf returns where an object is seen.
func (o *Observer) PlaceOf(key manifests.Key) Place {
	if o.perNamespace {
		return Place{key.GroupKind(), key.Namespace}
	}
	return Place{Type: key.GroupKind()}
}

// sights are the watches on dependents: by place, and by the name of the viewer.
type sights map[Place]map[string]*kind

// enter enters a watch.
func (s sights) enter(viewer string, p Place, k *kind) {
	if s[p] == nil {
		s[p] = map[string]*kind{}
	}
	s[p][viewer] = k
}

// drop forgets a watch.
func (s sights) drop(viewer string, p Place) {
	if delete(s[p], viewer); len(s[p]) == 0 {
		delete(s, p)
	}
}
