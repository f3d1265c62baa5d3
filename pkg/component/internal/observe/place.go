package observe

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/fairlead-io/fairlead/pkg/component/internal/rights"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Viewer is who watches. The zero Viewer is the one that an Observer, or References, were made for.
type Viewer struct {
	// Name tells a viewer from all others; its first line is the user.
	Name     string
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
}

// advice says what to do where a viewer may not list or watch.
func (v Viewer) advice(refused error) string {
	if v.Name == "" {
		return "allow list and watch"
	}
	user, _, _ := strings.Cut(v.Name, "\n")
	return rights.Advice(refused.Error(), user, "allow that user get, list and watch, as the roles do that \"fairlead rbac --observe identity\" prints")
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
