package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// dropRegrouped returns the removals without those of objects that are desired under another group. The API server serves
// some objects in two groups, such as Event, with the same UID. Their entries under the former group are dropped when
// the object is recorded under the other group.
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
