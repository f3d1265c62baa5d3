package manifests_test

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
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

// Lists are replaced by their items. The error names the line of every mistake.
func ExampleDecode() {
	objects, err := manifests.Decode("objects.yaml", []byte(twoObjects))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range objects {
		fmt.Println(o.GetKind(), o.GetName())
	}
	_, err = manifests.Decode("bad.yaml", []byte("kind: ConfigMap\nmetadata: {name: settings}\n"))
	if mistake, ok := errors.AsType[*manifests.FileError](err); ok {
		fmt.Println(mistake.File, mistake.Line)
	}
	// Output:
	// Namespace shop
	// Deployment web
	// bad.yaml 1
}

func ExampleParseKey() {
	key := manifests.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	parsed, ok := manifests.ParseKey(key.String())
	fmt.Println(key, parsed == key, ok)
	// Output: Deployment.apps shop/web true true
}

func ExampleParseOwner() {
	owner := manifests.Owner{
		Cluster:    "4fdf",
		Reconciler: "shop.example.com",
		Group:      "example.com",
		Kind:       "Shop",
		Namespace:  "apps",
		Name:       "shop",
	}
	parsed, ok := manifests.ParseOwner(owner.String())
	fmt.Println(parsed.Component(), parsed == owner, ok)
	// Output: Shop.example.com apps/shop true true
}

// ToUnstructured converts typed and unstructured objects to plain data.
func ExampleToUnstructured() {
	gvkOf := func(runtime.Object) (schema.GroupVersionKind, error) {
		return corev1.SchemeGroupVersion.WithKind("ConfigMap"), nil
	}
	o, err := manifests.ToUnstructured(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}, gvkOf)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(o.GetAPIVersion(), o.GetKind(), o.GetName())
	// Output: v1 ConfigMap settings
}
