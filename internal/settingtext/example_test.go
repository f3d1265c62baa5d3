package settingtext_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func ExampleParse() {
	settings, err := settingtext.Parse("shop.example.com", map[string]string{
		"shop.example.com/order":         "-1",
		"shop.example.com/delete-policy": "orphan",
		"example.com/of-somebody-else":   "is ignored",
	})
	fmt.Println(settings.Order, settings.DeletePolicy, err)
	_, err = settingtext.Parse("shop.example.com", map[string]string{"shop.example.com/order": "first"})
	fmt.Println(err)
	// Output:
	// -1 orphan <nil>
	// annotation shop.example.com/order: "first" is not a whole number from -32768 to 32767
}

func ExampleParseStatusHints() {
	hints, err := settingtext.ParseStatusHints("has-observed-generation,conditions=Synced;Healthy")
	fmt.Println(hints.HasObservedGeneration, hints.HasReadyCondition, hints.Conditions, err)
	// Output: true false [Synced Healthy] <nil>
}

func ExampleIsMark() {
	fmt.Println(
		settingtext.IsMark("shop.example.com", "shop.example.com/order"),
		settingtext.IsMark("shop.example.com", "example.com/order"),
	)
	// Output: true false
}

// The annotation depends-on contains objects and groups. A question mark makes an element optional.
func ExampleParseDependencies() {
	parsed, err := settingtext.ParseDependencies("StatefulSet.apps db,@schema, Job.batch shop/seed?")
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
	fmt.Println(settingtext.JoinDependencies([]manifests.Dependency{
		{Key: manifests.Key{Group: "apps", Kind: "StatefulSet", Name: "db"}}, {Group: "schema", Optional: true},
	}))
	// Output: StatefulSet.apps db, @schema?
}

func ExampleExternalReferences() {
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "external.fairlead.io/v1", "kind": "Schema", "metadata": map[string]any{"name": "orders"},
		"references": []any{map[string]any{"kind": "Secret", "name": "db-admin"}},
	}}
	refs, err := settingtext.ExternalReferences(body)
	fmt.Println(refs[0].Kind, refs[0].Name, err)
	// Output: Secret db-admin <nil>
}

func ExampleCheckExternalName() {
	fmt.Println(settingtext.CheckExternalName("Schema", "system:orders") != nil)
	fmt.Println(settingtext.CheckExternalName("Schema", "orders"))
	// Output:
	// true
	// <nil>
}

func ExampleNames() {
	for _, name := range settingtext.Names()[:3] {
		fmt.Println("shop.example.com/" + name)
	}
	// Output:
	// shop.example.com/order
	// shop.example.com/apply-order
	// shop.example.com/purge-order
}
