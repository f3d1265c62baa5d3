package component

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// checkPartialDiscovery refuses a rendering that may differ from the applied objects only because the discovery of a
// group has failed ever since this process started. A chart that renders by capabilities would lose objects at a
// restart, and get them back when discovery works again. A rendering for the same capabilities as the applied objects
// does not depend on that group.
//
// A refused rendering is dropped: otherwise values that it lacks would be missing in the next rendering, too.
func (r *Reconciler[T]) checkPartialDiscovery(
	component T, in inputs, rendered rendering, inventory []metav1alpha1.InventoryEntry,
) error {
	status, undiscovered := component.GetStatus(), rendered.looks.served.Undiscovered
	if len(undiscovered) == 0 || len(inventory) == 0 || rendered.looks.servedAlike(status) {
		return nil
	}
	differs, err := differsForWant(status, in, rendered.objects, inventory)
	if err != nil || !differs {
		return err
	}
	r.rendered.drop(client.ObjectKeyFromObject(component))
	return &condition.Error{Reason: metav1alpha1.ReasonRetrying, Message: partialDiscoveryMessage(undiscovered)}
}

// differsForWant says that a rendering of the same inputs is another one than what is applied or recorded, or that one of new inputs lacks
// something of that.
func differsForWant(status *metav1alpha1.Status, in inputs, objects []manifests.Object, inventory []metav1alpha1.InventoryEntry) (bool, error) {
	desired, phases := ofPhase(objects, manifests.PhaseApply)
	wanted, err := phaseDigest(phases)
	if err != nil {
		return false, err
	}
	if in.standing(status) {
		return wanted != status.PhaseRecord || appliedOtherwise(objects, inventory), nil
	}
	lost := wanted == "" && status.PhaseRecord != ""
	return lost || len(plan.Victims(plan.NewInventory(inventory), desired)) > 0, nil
}

// appliedOtherwise says that other dependents are rendered now than are recorded, or that one was applied with another manifest.
func appliedOtherwise(objects []manifests.Object, inventory []metav1alpha1.InventoryEntry) bool {
	applied := plan.NewInventory(inventory)
	desired, _ := ofPhase(objects, manifests.PhaseApply)
	return len(desired) != len(applied) || slices.ContainsFunc(desired, func(o manifests.Object) bool {
		entry, recorded := applied[o.Key]
		return !recorded || entry.Digest != "" && entry.Digest != o.Digest
	})
}

func partialDiscoveryMessage(undiscovered []string) string {
	services := make([]string, 0, len(undiscovered))
	for _, gv := range undiscovered {
		group, version, _ := strings.Cut(gv, "/")
		services = append(services, version+"."+group)
	}
	return fmt.Sprintf("discovery of %s failed, and this rendering would drop or change applied objects: "+
		"nothing is changed until APIService %s answers or is deleted",
		strings.Join(undiscovered, ", "), strings.Join(services, ", "))
}
