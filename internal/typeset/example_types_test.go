package typeset_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/typeset"
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

func ExampleDefinedBy() {
	fmt.Println(typeset.DefinedBy(decoded(definition)))
	// Output: [Boat.example.com]
}

func ExampleNew() {
	types := typeset.New(typeset.DefinedBy(decoded(definition)))
	fmt.Println(
		types.Has(schema.GroupKind{Group: "example.com", Kind: "Boat"}),
		types.Has(schema.GroupKind{Group: "apps", Kind: "Deployment"}),
	)
	// Output: true false
}

// An instance of a type that the set defines is applied last in its wave.
func ExampleStageOf() {
	managed := typeset.DefinedBy(decoded(definition))
	for _, gk := range []schema.GroupKind{
		{Kind: "Namespace"},
		{Kind: "ConfigMap"},
		{Group: "apps", Kind: "Deployment"},
		{Group: "example.com", Kind: "Boat"},
	} {
		fmt.Println(gk.Kind, typeset.StageOf(gk, managed) == manifests.StageInstances)
	}
	// Output:
	// Namespace false
	// ConfigMap false
	// Deployment false
	// Boat true
}

func decoded(text string) *unstructured.Unstructured {
	objects, err := manifests.Decode("objects.yaml", []byte(text))
	if err != nil {
		panic(err)
	}
	return objects[0]
}
