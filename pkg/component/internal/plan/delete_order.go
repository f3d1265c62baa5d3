package plan

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/typeset"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// deleteStep is a step of a deletion. Steps are taken in ascending order.
type deleteStep int

const (
	// stepInstances comes before all delete waves, because the controller of the instances may be one of the other
	// dependents. The controller must still run to remove the finalizers of the instances.
	stepInstances deleteStep = iota
	// stepBackends deletes webhook configurations and APIServices. stepBackends comes before stepWorkloads, which
	// deletes the servers behind the webhooks: if the server of a webhook does not run, the API server may refuse our own
	// deletions.
	stepBackends
	stepWorkloads
	stepConfiguration
	// stepDefinitions comes before stepRoles, because the instances of a type are listed before its definition is
	// deleted, and a role may grant the right to list these instances.
	stepDefinitions
	stepRoles
	stepNamespaces
)

// The types of objects that define other types.
var (
	CustomResourceDefinition = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	APIService               = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}
)

func deleteStepOf(gk schema.GroupKind, types typeset.Set) deleteStep {
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
		if gk == CustomResourceDefinition {
			return stepDefinitions
		}
		return stepRoles
	case manifests.StageNamespaces:
		return stepNamespaces
	}
	return stepWorkloads
}

// deleteOrder is the position of an object in a deletion.
type deleteOrder struct {
	// afterInstances is set if the object is not an instance of a managed type. Other objects are deleted after all
	// instances of managed types.
	afterInstances bool
	// afterWaves is set if the object is a namespace that was created for the component. It is deleted after all waves,
	// because every dependent in it has its own place in the order.
	afterWaves bool
	wave       int
	step       deleteStep
}

func (o deleteOrder) compare(other deleteOrder) int {
	return cmp.Or(
		compareFalseFirst(o.afterInstances, other.afterInstances),
		compareFalseFirst(o.afterWaves, other.afterWaves),
		cmp.Compare(o.wave, other.wave),
		cmp.Compare(o.step, other.step),
	)
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

// deleteSteps groups entries in the order of their deletion. A group is deleted when the objects of the previous group
// no longer exist.
func deleteSteps(removals []metav1alpha1.InventoryEntry, types typeset.Set) [][]metav1alpha1.InventoryEntry {
	groups := map[deleteOrder][]metav1alpha1.InventoryEntry{}
	for _, e := range removals {
		step := deleteStepOf(KeyOf(e).GroupKind(), types)
		at := deleteOrder{
			afterInstances: step != stepInstances, afterWaves: IsOwnedNamespace(e), wave: e.EffectiveDeleteOrder(), step: step,
		}
		groups[at] = append(groups[at], e)
	}
	orders := make([]deleteOrder, 0, len(groups))
	for at := range groups {
		orders = append(orders, at)
	}
	slices.SortFunc(orders, deleteOrder.compare)
	steps := make([][]metav1alpha1.InventoryEntry, 0, len(orders))
	for _, at := range orders {
		slices.SortFunc(groups[at], func(a, b metav1alpha1.InventoryEntry) int { return KeyOf(a).Compare(KeyOf(b)) })
		steps = append(steps, groups[at])
	}
	return steps
}
