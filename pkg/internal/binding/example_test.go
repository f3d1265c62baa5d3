package binding_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/internal/binding"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

const flowing = `
apiVersion: v1
kind: Service
metadata:
  name: db
  annotations:
    shop.example.com/reconcile-policy: observe
    shop.example.com/export: "dbHost=self.spec.clusterIP"
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  annotations: {shop.example.com/bind: "true"}
data: {url: "postgres://${{ dbHost }}/shop"}
`

// mustDecode decodes manifests that are part of an example.
func mustDecode(text string) []*unstructured.Unstructured {
	objects, err := manifests.Decode("objects.yaml", []byte(text))
	if err != nil {
		panic(err)
	}
	return objects
}

// The holes of a set are filled with the values of live objects. The digest of the result tells apart whether the
// manifest or a value changed.
func ExampleNew() {
	objects, err := normalise.Manifests(mustDecode(flowing), options)
	if err != nil {
		fmt.Println(err)
		return
	}
	bindings, _ := binding.New(options.Reconciler, objects)
	fmt.Println(bindings.Exporter("dbHost"))
	for _, host := range []string{"10.0.0.1", "10.0.0.2"} {
		bound, err := bindings.Bind(context.Background(), objects[0], func(string) (any, bool) { return host, true })
		if err != nil {
			fmt.Println(err)
			return
		}
		url, _, _ := unstructured.NestedString(bound.Object.Body.Object, "data", "url")
		fmt.Println(url, digests.Template(bound.Object.Digest) == objects[0].Digest)
	}
	// Output:
	// Service shop/db
	// postgres://10.0.0.1/shop true
	// postgres://10.0.0.2/shop true
}

func ExampleCheckPublished() {
	objects := []manifests.Object{{
		Key: manifests.Key{Kind: "Secret", Namespace: "shop", Name: "db"},
		Settings: manifests.Settings{Rare: &manifests.RareSettings{
			Exports: []manifests.Export{{Name: "password", Expression: "self.stringData.password"}},
		}},
	}}
	fmt.Println(binding.CheckPublished([]string{"password"}, objects))
	// Output: the component publishes the export password of Secret shop/db, but values of Secrets are never published
}
