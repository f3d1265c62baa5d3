package marks_test

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func ExampleOwnerOf() {
	owner := manifests.Owner{
		Cluster:    "4fdf",
		Reconciler: "shop.example.com",
		Group:      "example.com",
		Kind:       "Shop",
		Namespace:  "apps",
		Name:       "shop",
	}
	labels := map[string]string{"shop.example.com/owner-id": owner.ID()}
	annotations := map[string]string{"shop.example.com/owner-id": owner.String()}
	id, name := marks.OwnerOf(labels, annotations, "another.example.com", "")
	fmt.Println(id == owner.ID(), name == owner.String())
	// Output: true true
}

func ExampleCopyOf() {
	annotations := map[string]string{"shop.example.com/object": "ConfigMap apps/settings"}
	of, copied := marks.CopyOf(
		manifests.Key{Kind: "ConfigMap", Namespace: "apps", Name: "settings-copy"}, annotations, "shop.example.com")
	fmt.Println(copied, of)
	// Output: true ConfigMap apps/settings
}

func ExampleReleasedBy() {
	owner := manifests.Owner{
		Cluster:    "4fdf",
		Reconciler: "shop.example.com",
		Group:      "example.com",
		Kind:       "Shop",
		Namespace:  "apps",
		Name:       "shop",
	}
	annotations := map[string]string{"shop.example.com/released-by": owner.String()}
	fmt.Println(marks.ReleasedBy(annotations, "shop.example.com") == owner.ID())
	// Output: true
}
