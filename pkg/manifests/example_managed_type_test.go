package manifests_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

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
