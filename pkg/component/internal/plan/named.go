package plan

import (
	"slices"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Names says which objects of others, and which owners of objects, may be named in messages. Everybody who may read the
// component reads its messages, also people who know nothing of the components of others. The name of an owner is in
// the metadata of the object, so it is no secret for an identity that may get the object.
type Names struct {
	// All is set if all of them may be named, because the component acts with the rights of whoever observes the objects.
	All bool
	// Known are the answers of access reviews: whether the identity of the component may get an object. An object
	// without an answer counts as one that it may not get.
	Known map[manifests.Key]bool
	// Asked are the objects that this pass has asked about, with or without an answer.
	Asked map[manifests.Key]bool
}

// mayName reports whether the owner of an object may be named.
func (n Names) mayName(key manifests.Key) bool { return n.All || n.Known[key] || key.IsExternal() }

// of returns the keys of the objects that may be named themselves, because the identity of the component may get them.
func (n Names) of(keys []manifests.Key) []manifests.Key {
	return slices.DeleteFunc(slices.Clone(keys), func(key manifests.Key) bool { return !n.mayName(key) })
}

// Unnamed returns the objects of others that a plan is in conflict with, in the order of the plan, and that need an
// access review before they, or their owners, are named. These are dependents with another owner, foreign instances,
// and objects of others in a namespace that is to be deleted.
func (p Plan) Unnamed(f Facts) []manifests.Key {
	var keys []manifests.Key
	for _, b := range p.Blocked {
		keys = append(keys, f.Foreign[b.Type].Keys...)
	}
	for _, w := range p.Waiting {
		if w.Reason == WaitNotEmpty {
			keys = append(keys, f.Contents[w.Key.Name].Keys...)
			continue
		}
		if live := f.LiveOf(w.Key); w.Reason == WaitOwnershipConflict && live.Owner != "" && live.Owner != f.Owner &&
			!w.Key.IsExternal() && !isNeighbour(f.Component, f.RemoteTarget, live.OwnerName) {
			keys = append(keys, w.Key)
		}
	}
	return keys
}

// isNeighbour reports whether an owner is a component in the namespace of the component itself. It is always named,
// because namespaces separate those who may read components.
func isNeighbour(component manifests.Key, remote bool, ownerName string) bool {
	owner, ok := manifests.ParseOwner(ownerName)
	return ok && !remote && owner.Namespace != "" && owner.Namespace == component.Namespace
}
