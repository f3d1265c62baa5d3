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

// checkAnswered refuses a rendering that may differ from what is applied only because the API server does not tell, since this process began, what
// a group serves: a chart that asks for that would lose objects at a restart, and get them back when the group answers. What was applied for the
// same answers does not depend on that group.
//
// A rendering that is refused is forgotten: values that it lacks would otherwise be lost to the next one.
func (r *Reconciler[T]) checkAnswered(component T, in inputs, rendered rendering, inventory []metav1alpha1.InventoryEntry) error {
	status, unanswered := component.GetStatus(), rendered.looks.extent.unanswered
	if len(unanswered) == 0 || len(inventory) == 0 || rendered.looks.servedAlike(status) {
		return nil
	}
	differs, err := differsForWant(status, in, rendered.objects, inventory)
	if err != nil || !differs {
		return err
	}
	r.rendered.drop(client.ObjectKeyFromObject(component))
	return &condition.Error{Reason: metav1alpha1.ReasonRetrying, Message: unansweredMessage(unanswered)}
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

func unansweredMessage(unanswered []string) string {
	services := make([]string, 0, len(unanswered))
	for _, gv := range unanswered {
		group, version, _ := strings.Cut(gv, "/")
		services = append(services, version+"."+group)
	}
	return fmt.Sprintf("the API server does not tell what %s serves, and without that something is not rendered, or rendered differently, that is applied: "+
		"nothing is changed until it does; make what is behind the APIService %s answer, or delete that APIService",
		strings.Join(unanswered, ", "), strings.Join(services, ", "))
}
