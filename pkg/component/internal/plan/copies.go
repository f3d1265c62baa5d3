package plan

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// LiveOf returns the state of an object. A copy of a dependent that another client made has the marks of the component,
// and is an object without an owner nevertheless. It stays a dependent if its UID is in the inventory: then
// somebody has only edited its marks. An object with the marks of another cluster, whose objects spec.adopt permits, is
// no copy: a restore may have mapped its namespace to another one.
func (f Facts) LiveOf(key manifests.Key) Observed {
	live := f.Live.Of(key)
	if live.Copied && live.Owner == f.Owner && !f.records(live.UID) {
		live.Owner, live.OwnerName = "", ""
	}
	return live
}

// records reports whether the inventory contains an entry with a UID. The entry may have another key: the API server
// serves some objects under two kinds, with the same UID.
func (f Facts) records(uid types.UID) bool {
	for _, e := range f.Inventory {
		if e.UID == uid {
			return true
		}
	}
	return false
}
