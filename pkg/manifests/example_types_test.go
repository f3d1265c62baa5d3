package manifests_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  names: {kind: Boat, plural: boats}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true}]
`

func ExampleManagedTypes() {
	fmt.Println(manifests.ManagedTypes(mustDecode(definition)[0]))
	// Output: [Boat.example.com]
}

func ExampleNewManagedType() {
	all, err := manifests.NewManagedType("*.example.com", "*")
	fmt.Println(all.Matches(schema.GroupKind{Group: "ships.example.com", Kind: "Tug"}), err)
	_, err = manifests.NewManagedType("", "")
	fmt.Println(err != nil)
	// Output:
	// true <nil>
	// true
}

func ExampleParseManagedType() {
	boats, err := manifests.ParseManagedType("Boat.example.com")
	fmt.Println(boats.Matches(schema.GroupKind{Group: "example.com", Kind: "Boat"}), err)
	// Output: true <nil>
}

func ExampleNewTypeSet() {
	types := manifests.NewTypeSet(manifests.ManagedTypes(mustDecode(definition)[0]))
	fmt.Println(
		types.Has(schema.GroupKind{Group: "example.com", Kind: "Boat"}),
		types.Has(schema.GroupKind{Group: "apps", Kind: "Deployment"}),
	)
	// Output: true false
}

// An instance of a type that the set defines is applied last in its wave.
func ExampleStageOf() {
	managed := manifests.ManagedTypes(mustDecode(definition)[0])
	for _, gk := range []schema.GroupKind{{Kind: "Namespace"}, {Kind: "ConfigMap"}, {Group: "apps", Kind: "Deployment"}, {Group: "example.com", Kind: "Boat"}} {
		fmt.Println(gk.Kind, manifests.StageOf(gk, managed) == manifests.StageInstances)
	}
	// Output:
	// Namespace false
	// ConfigMap false
	// Deployment false
	// Boat true
}
