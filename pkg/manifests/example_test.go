package manifests_test

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// mustDecode decodes manifests that are part of an example.
func mustDecode(text string) []*unstructured.Unstructured {
	objects, err := manifests.Decode("objects.yaml", []byte(text))
	if err != nil {
		panic(err)
	}
	return objects
}

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

func ExampleParseSettings() {
	settings, err := manifests.ParseSettings("shop.example.com", map[string]string{
		"shop.example.com/order":         "-1",
		"shop.example.com/delete-policy": "orphan",
		"example.com/of-somebody-else":   "is ignored",
	})
	fmt.Println(settings.Order, settings.DeletePolicy, err)
	_, err = manifests.ParseSettings("shop.example.com", map[string]string{"shop.example.com/order": "first"})
	fmt.Println(err)
	// Output:
	// -1 orphan <nil>
	// annotation shop.example.com/order: "first" is not a whole number from -32768 to 32767
}

func ExampleParseStatusHints() {
	hints, err := manifests.ParseStatusHints("has-observed-generation,conditions=Synced;Healthy")
	fmt.Println(hints.HasObservedGeneration, hints.HasReadyCondition, hints.Conditions, err)
	// Output: true false [Synced Healthy] <nil>
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
	id, name := manifests.OwnerOf(labels, annotations, "another.example.com", "")
	fmt.Println(id == owner.ID(), name == owner.String())
	// Output: true true
}

func ExampleCopyOf() {
	annotations := map[string]string{"shop.example.com/object": "ConfigMap apps/settings"}
	of, copied := manifests.CopyOf(
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
	fmt.Println(manifests.ReleasedBy(annotations, "shop.example.com") == owner.ID())
	// Output: true
}

func ExampleIsMark() {
	fmt.Println(
		manifests.IsMark("shop.example.com", "shop.example.com/order"),
		manifests.IsMark("shop.example.com", "example.com/order"),
	)
	// Output: true false
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

func ExampleCheckAliases() {
	bomb := "a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: [*b, *b, *b, *b]\n"
	fmt.Println(manifests.CheckAliases([]byte(bomb), 1<<20), manifests.CheckAliases([]byte(bomb), 10) != nil)
	// Output: <nil> true
}

// The annotation depends-on has objects and groups. A question mark makes an element optional.
func ExampleParseDependencies() {
	parsed, err := manifests.ParseDependencies("StatefulSet.apps db,@schema, Job.batch shop/seed?")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range parsed {
		fmt.Printf("%s, optional %v, may be %v\n", d, d.Optional, d.In("apps"))
	}
	// Output:
	// StatefulSet.apps db, optional false, may be [StatefulSet.apps apps/db StatefulSet.apps db]
	// @schema, optional false, may be []
	// Job.batch shop/seed?, optional true, may be [Job.batch shop/seed]
}

func ExampleJoinDependencies() {
	fmt.Println(manifests.JoinDependencies([]manifests.Dependency{
		{Key: manifests.Key{Group: "apps", Kind: "StatefulSet", Name: "db"}}, {Group: "schema", Optional: true},
	}))
	// Output: StatefulSet.apps db, @schema?
}

func ExampleExternalReferences() {
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "external.fairlead.io/v1", "kind": "Schema", "metadata": map[string]any{"name": "orders"},
		"references": []any{map[string]any{"kind": "Secret", "name": "db-admin"}},
	}}
	refs, err := manifests.ExternalReferences(body)
	fmt.Println(refs[0].Kind, refs[0].Name, err)
	// Output: Secret db-admin <nil>
}

func ExampleCheckExternalName() {
	fmt.Println(manifests.CheckExternalName("Schema", "system:orders") != nil)
	fmt.Println(manifests.CheckExternalName("Schema", "orders"))
	// Output:
	// true
	// <nil>
}

func ExampleSettingAnnotations() {
	for _, name := range manifests.SettingAnnotations()[:3] {
		fmt.Println("shop.example.com/" + name)
	}
	// Output:
	// shop.example.com/order
	// shop.example.com/apply-order
	// shop.example.com/purge-order
}
