package plan

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// dropRegrouped returns the removals without those of objects that are desired under another group. The API server
// serves some objects in two groups, such as Event, with the same UID. Their entries under the previous group are
// dropped when the object has an entry under the other group.
func (p *Plan) dropRegrouped(f Facts, removals []metav1alpha1.InventoryEntry) []metav1alpha1.InventoryEntry {
	if len(removals) == 0 {
		return removals
	}
	desired := map[types.UID]manifests.Key{}
	for i := range f.Desired {
		key := f.Desired[i].Key
		if live := f.Live.Of(key); live.Presence == Present {
			desired[live.UID] = key
		}
	}
	return slices.DeleteFunc(removals, func(e metav1alpha1.InventoryEntry) bool {
		key, found := desired[e.UID]
		if !found || e.UID == "" || key.Namespace != e.Namespace || key.Name != e.Name {
			return false
		}
		if _, recorded := p.Inventory[key]; recorded {
			delete(p.Inventory, KeyOf(e))
		}
		return true
	})
}

// refuseSameObjects returns the facts with a failure for each desired object that is another desired object, too: the
// API server serves it in two groups. Each of the two manifests would undo the other one.
func refuseSameObjects(f Facts) Facts {
	groups, several := map[string]string{}, false
	for i := range f.Desired {
		key := f.Desired[i].Key
		group, known := groups[key.Kind]
		several = several || known && group != key.Group
		groups[key.Kind] = key.Group
	}
	if !several {
		return f
	}
	first, refused := map[types.UID]manifests.Key{}, maps.Clone(f.Refused)
	for i := range f.Desired {
		key := f.Desired[i].Key
		live := f.LiveOf(key)
		if live.Presence != Present || live.UID == "" || key.IsExternal() {
			continue
		}
		other, found := first[live.UID]
		if !found {
			first[live.UID] = key
		}
		if !found || other == key {
			continue
		}
		if refused == nil {
			refused = map[manifests.Key]Failure{}
		}
		refused[key] = Failure{Class: Terminal, Reason: WaitInvalid, Message: fmt.Sprintf(
			"it is the same object as %s, which the API server serves in two groups, and the manifests contain both; "+
				"leave one of them out", other)}
	}
	f.Refused = refused
	return f
}
