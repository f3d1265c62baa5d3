package plan

import (
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Snapshot is the state of the live objects at one moment, by key. Nobody changes the objects that it refers to. The zero value has no
// objects.
type Snapshot map[manifests.Key]*Observed

// Of returns the state of an object. The state of an object that is not in the snapshot is Unknown, so nothing is decided about it.
func (s Snapshot) Of(key manifests.Key) Observed {
	if o := s[key]; o != nil {
		return *o
	}
	return NotObserved()
}

// NotObserved is the state of an object whose type is not watched yet.
func NotObserved() Observed {
	return Observed{Presence: Unknown, Reason: WaitObserving, Message: "its type is not watched yet"}
}

// Keys returns the keys of the objects that a plan looks at: the recorded objects, the apply set, and the objects of the phases of a
// deletion. Facts.Live needs an entry for each.
func (f Facts) Keys() []manifests.Key {
	keys := slices.AppendSeq(make([]manifests.Key, 0, max(len(f.Inventory), len(f.Desired))), maps.Keys(f.Inventory))
	for _, objects := range [][]manifests.Object{f.Desired, f.PreDelete, f.PostDelete} {
		for i := range objects {
			if _, recorded := f.Inventory[objects[i].Key]; !recorded {
				keys = append(keys, objects[i].Key)
			}
		}
	}
	return keys
}
