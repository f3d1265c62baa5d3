package related

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// index contains the components of an informer, and their relations to objects.
type index struct {
	// users are the components of the informer. all relates each of them to all objects.
	users names
	all   bool
	// byObject is the reverse of Of, and byComponent the reverse of For.
	byObject, byComponent relations
}

// relatedTo returns the components that are related to an object in one of the given versions, which may be nil.
// Components that are not users of the informer may be among them.
func (x index) relatedTo(key client.ObjectKey, versions ...*object) names {
	related := names{}
	maps.Copy(related, x.byObject[key])
	if x.all {
		maps.Copy(related, x.users)
	}
	for _, o := range versions {
		if o != nil {
			related.add(o.components)
		}
	}
	return related
}

// isUsed reports whether users of the informer are related to an object in one of the given versions, which may be nil.
func (x index) isUsed(key client.ObjectKey, versions ...*object) bool {
	if x.all {
		return len(x.users) > 0
	}
	for name := range x.relatedTo(key, versions...) {
		if x.users[name] {
			return true
		}
	}
	return false
}

// isRelated reports whether an object is related to a component.
func (x index) isRelated(key client.ObjectKey, name types.NamespacedName) bool {
	return x.all || x.byObject[key][name] || x.byComponent[name][key]
}

// names is a set of components or objects.
type names map[types.NamespacedName]bool

func (n names) add(list []types.NamespacedName) {
	for _, name := range list {
		n[name] = true
	}
}

// relations contains the names that refer to a name.
type relations map[types.NamespacedName]names

// replace replaces the names that from refers to.
func (r relations) replace(from types.NamespacedName, previous, current []types.NamespacedName) {
	for _, to := range previous {
		delete(r[to], from)
		if len(r[to]) == 0 {
			delete(r, to)
		}
	}
	for _, to := range current {
		if r[to] == nil {
			r[to] = names{}
		}
		r[to][from] = true
	}
}

func compareKeys(a, b client.ObjectKey) int {
	if order := strings.Compare(a.Namespace, b.Namespace); order != 0 {
		return order
	}
	return strings.Compare(a.Name, b.Name)
}
