package normalise_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

const twoObjects = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {shop.example.com/order: "1"}
spec: {replicas: 2}
`

// mustDecode decodes manifests that are part of an example.
func mustDecode(text string) []*unstructured.Unstructured {
	objects, err := manifests.Decode("objects.yaml", []byte(text))
	if err != nil {
		panic(err)
	}
	return objects
}

// Manifests converts the output of a generator to objects in apply order, with namespace, owner, settings, stage and
// digest.
func ExampleManifests() {
	owner := manifests.Owner{
		Cluster: "4fdf…", Reconciler: "shop.example.com", Group: "example.com", Kind: "Shop", Namespace: "apps", Name: "shop",
	}
	desired, err := normalise.Manifests(mustDecode(twoObjects), normalise.Options{
		Reconciler: owner.Reconciler,
		Namespace:  "shop",
		Owner:      owner,
		ScopeOf: func(gvk schema.GroupVersionKind) (manifests.Scope, error) {
			if gvk.Kind == "Namespace" {
				return manifests.ScopeCluster, nil
			}
			return manifests.ScopeNamespaced, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range desired {
		fmt.Println(o.Key, "in wave", o.Settings.Order)
	}
	// Output:
	// Namespace shop in wave 0
	// Deployment.apps shop/web in wave 1
}

// The rules of an operator are parsed once, and handed over with the other options of Normalise.
func ExampleNewIgnoreRules() {
	rules, err := normalise.NewIgnoreRules("shop.example.com", manifests.IgnoredByOption, []metav1alpha1.IgnoreRule{{
		Target: &metav1alpha1.ObjectTarget{Kind: "Deployment"},
		Paths:  []string{"spec.replicas"},
	}})
	fmt.Println(len(normalise.Options{Ignore: rules}.Ignore), err)
	_, err = normalise.NewIgnoreRules("shop.example.com", manifests.IgnoredByOption, []metav1alpha1.IgnoreRule{{
		Paths: []string{"metadata.name", "spec.containers[0].image"},
	}})
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// [0]: path "metadata.name": of metadata only labels and annotations can be ignored, because other fields identify the object or decide about its deletion
	// [0]: path "spec.containers[0].image": [0] is a position, which another client may change; select the item by its key, such as [name=web], or all items by [*]
}
