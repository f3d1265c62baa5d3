package manifests_test

import (
	"fmt"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// The rules of an operator are parsed once, and handed over with the other options of Normalise.
func ExampleNewIgnoreRules() {
	rules, err := manifests.NewIgnoreRules("shop.example.com", manifests.IgnoredByOption, []metav1alpha1.IgnoreRule{{
		Target: &metav1alpha1.ObjectTarget{Kind: "Deployment"},
		Paths:  []string{"spec.replicas"},
	}})
	fmt.Println(len(manifests.NormaliseOptions{Ignore: rules}.Ignore), err)
	_, err = manifests.NewIgnoreRules("shop.example.com", manifests.IgnoredByOption, []metav1alpha1.IgnoreRule{{
		Paths: []string{"metadata.name", "spec.containers[0].image"},
	}})
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// [0]: path "metadata.name": of metadata only labels and annotations can be ignored, because other fields identify the object or decide about its deletion
	// [0]: path "spec.containers[0].image": [0] is a position, which another client may change; select the item by its key, such as [name=web], or all items by [*]
}

// A live object tells which of its fields are ignored, and by which rule.
func ExampleLiveIgnored() {
	for _, ignored := range manifests.LiveIgnored(map[string]string{
		"shop.example.com/ignore":          "spec.replicas",
		"shop.example.com/ignored-by-spec": "spec.template.spec.containers[name=web].image",
	}, "shop.example.com") {
		fmt.Println(ignored.Source, ignored.Path)
	}
	// Output:
	// annotation spec.replicas
	// spec spec.template.spec.containers[name="web"].image
}

// A watch needs the paths alone.
func ExampleIgnoredOf() {
	fmt.Println(manifests.IgnoredOf(map[string]string{"shop.example.com/ignore": "spec.replicas"}, "shop.example.com"))
	// Output: [spec.replicas]
}
