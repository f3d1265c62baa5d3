package plan

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// deleteStep is a stage of a deletion; they ascend.
type deleteStep int

const (
	// stepInstances goes before all else, whatever the wave: the controller of a managed type is among the rest.
	stepInstances deleteStep = iota
	// stepBackends goes before what serves them: a webhook that does not answer would refuse our own deletions.
	stepBackends
	stepWorkloads
	stepConfiguration
	// stepDefinitions goes before roles: one of them may be what allows us to see that a type has no instances any more.
	stepDefinitions
	stepRoles
	stepNamespaces
)

var (
	customResourceDefinition = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	apiService               = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}
)

func deleteStepOf(gk schema.GroupKind, types manifests.TypeSet) deleteStep {
	switch types.StageOf(gk) {
	case manifests.StageInstances:
		return stepInstances
	case manifests.StageBackends:
		return stepBackends
	case manifests.StageWorkloads:
		return stepWorkloads
	case manifests.StageConfiguration:
		return stepConfiguration
	case manifests.StageDefinitions:
		if gk == customResourceDefinition {
			return stepDefinitions
		}
		return stepRoles
	case manifests.StageNamespaces:
		return stepNamespaces
	}
	return stepWorkloads
}

// place is when a removal is deleted.
type removalOrder struct {
	// rest says that it is no instance of a managed type.
	rest bool
	wave int
	step deleteStep
}

func (p removalOrder) compare(other removalOrder) int {
	return cmp.Or(compareFalseFirst(p.rest, other.rest), cmp.Compare(p.wave, other.wave), cmp.Compare(p.step, other.step))
}

func compareFalseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// deleteSteps groups removals as they are deleted: the next group goes when one is gone.
func deleteSteps(removals []metav1alpha1.InventoryEntry, types manifests.TypeSet) [][]metav1alpha1.InventoryEntry {
	groups := map[removalOrder][]metav1alpha1.InventoryEntry{}
	for _, e := range removals {
		step := deleteStepOf(KeyOf(e).GroupKind(), types)
		at := removalOrder{rest: step != stepInstances, wave: e.EffectiveDeleteOrder(), step: step}
		groups[at] = append(groups[at], e)
	}
	places := make([]removalOrder, 0, len(groups))
	for at := range groups {
		places = append(places, at)
	}
	slices.SortFunc(places, removalOrder.compare)
	steps := make([][]metav1alpha1.InventoryEntry, 0, len(places))
	for _, at := range places {
		slices.SortFunc(groups[at], func(a, b metav1alpha1.InventoryEntry) int { return KeyOf(a).Compare(KeyOf(b)) })
		steps = append(steps, groups[at])
	}
	return steps
}
