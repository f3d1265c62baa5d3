package depgraph_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/depgraph"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// mustDecode decodes manifests that are part of an example.
func mustDecode(text string) []*unstructured.Unstructured {
	objects, err := manifests.Decode("objects.yaml", []byte(text))
	if err != nil {
		panic(err)
	}
	return objects
}

// Node 0 leads to node 1. Nodes 2 and 3 lead to each other.
func ExampleTopological() {
	order, rest := depgraph.Topological([][]int{{1}, {}, {3}, {2}})
	fmt.Println(order, rest)
	// Output: [1 0] [2 3]
}

// The Deployment belongs to a wave, and waits for the value of the Service all the same.
func ExampleValueEdges() {
	objects, err := normalise.Manifests(mustDecode(`
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
		fmt.Println(o.Key, depgraph.ValueEdges(objects)[o.Key])
	}
	// Output:
	// Service shop/db []
	// ConfigMap shop/web [Service shop/db]
}
