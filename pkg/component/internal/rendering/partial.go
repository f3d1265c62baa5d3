package rendering

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// checkPartialDiscovery refuses a set that may differ from the applied objects only because the discovery of some
// groups has failed since the process began. A chart that checks whether such a group is served would otherwise lose
// objects at a restart of the operator, and get them back later. A set is not refused if the applied rendering was made
// for the same capabilities.
//
// A refused set is dropped from the cache. Otherwise the next rendering would take over its pinned values, in which
// values of missing objects are absent.
func (r *Renderer) checkPartialDiscovery(req Request, set Set) error {
	undiscovered := set.Lookups.Served.Undiscovered
	if len(undiscovered) == 0 || len(req.Inventory) == 0 || set.Lookups.SameCapabilities(req.Status) {
		return nil
	}
	differs, err := changesApplied(req, set)
	if err != nil || !differs {
		return err
	}
	r.cache.drop(req.name())
	return &passerror.Error{Reason: metav1alpha1.ReasonRetrying, Message: partialDiscoveryMessage(undiscovered)}
}

// changesApplied reports whether a set of the same inputs differs from the applied or recorded objects, or whether a
// set of new inputs lacks any of them.
func changesApplied(req Request, set Set) (bool, error) {
	phases, err := plan.PhaseDigest(set.Phases())
	if err != nil {
		return false, err
	}
	if req.Inputs.AreRecorded(req.Status) {
		return phases != req.Status.PhaseRecord || set.DiffersFrom(req.Inventory), nil
	}
	lost := phases == "" && req.Status.PhaseRecord != ""
	return lost || len(plan.Removals(plan.NewInventory(req.Inventory), set.Desired())) > 0, nil
}

// DiffersFrom reports whether the apply set and an inventory contain different dependents, or whether the manifest of a
// dependent differs from the applied manifest. Owned namespaces are not rendered.
func (s Set) DiffersFrom(inventory []metav1alpha1.InventoryEntry) bool {
	applied, desired := plan.NewInventory(inventory), withoutObserved(s.Desired())
	maps.DeleteFunc(applied, func(_ manifests.Key, e metav1alpha1.InventoryEntry) bool { return plan.IsOwnedNamespace(e) })
	return plan.CountObjects(desired) != len(applied) || slices.ContainsFunc(desired, func(o manifests.Object) bool {
		entry, recorded := applied[o.Key]
		return !recorded || max(entry.Occurrence-1, 0) == o.Occurrence && entry.Digest != "" &&
			digests.Template(entry.Digest) != o.Digest
	})
}

func partialDiscoveryMessage(undiscovered []string) string {
	services := make([]string, 0, len(undiscovered))
	for _, gv := range undiscovered {
		group, version, _ := strings.Cut(gv, "/")
		services = append(services, version+"."+group)
	}
	return fmt.Sprintf("discovery of %s failed, and this rendering would drop or change applied objects: "+
		"nothing is changed until APIService %s answers; if it is deleted, these objects are dropped or changed",
		strings.Join(undiscovered, ", "), strings.Join(services, ", "))
}
