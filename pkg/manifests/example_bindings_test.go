package manifests_test

import (
	"fmt"

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

// Objects that are only observed are not applied.
func ExampleApplied() {
	objects, err := normalise.Manifests(mustDecode(flowing), options)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range manifests.Applied(objects) {
		fmt.Println(o.Key)
	}
	// Output: ConfigMap shop/web
}
