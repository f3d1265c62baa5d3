package manifests_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/manifests"
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

func ExampleIsExportName() {
	fmt.Println(manifests.IsExportName("dbHost"), manifests.IsExportName("db-host"))
	// Output: true false
}

func ExampleParseExports() {
	exports, err := manifests.ParseExports("host=self.spec.clusterIP, port=self.spec.ports[0].port")
	for _, e := range exports {
		fmt.Println(e.Name, "is", e.Expression)
	}
	fmt.Println(err)
	// Output:
	// host is self.spec.clusterIP
	// port is self.spec.ports[0].port
	// <nil>
}

// The holes of a set are filled with the values of live objects. The digest of the result tells apart whether the
// manifest or a value changed.
func ExampleNewBindings() {
	objects, err := manifests.Normalise(mustDecode(flowing), options)
	if err != nil {
		fmt.Println(err)
		return
	}
	bindings, _ := manifests.NewBindings(options.Reconciler, objects)
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

// Objects that are only observed are not applied.
func ExampleApplied() {
	objects, err := manifests.Normalise(mustDecode(flowing), options)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range manifests.Applied(objects) {
		fmt.Println(o.Key)
	}
	// Output: ConfigMap shop/web
}

// The Deployment belongs to a wave, and waits for the value of the Service all the same.
func ExampleValueEdges() {
	objects, err := manifests.Normalise(mustDecode(`
apiVersion: v1
kind: Service
metadata:
  name: db
  annotations: {shop.example.com/export: dbIP=self.spec.clusterIP}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  annotations: {shop.example.com/bind: "true", shop.example.com/order: "1"}
data: {ip: "${{ dbIP }}"}
`), options)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range objects {
		fmt.Println(o.Key, manifests.ValueEdges(objects)[o.Key])
	}
	// Output:
	// Service shop/db []
	// ConfigMap shop/web [Service shop/db]
}
