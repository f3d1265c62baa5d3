package depgraph_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/depgraph"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// bare returns a ConfigMap.
func bare(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "shop", "name": name},
	}}
}

// largeGraph returns the manifests of 2,000 objects that depend on each other. Each depends on two objects.
func largeGraph() []*unstructured.Unstructured {
	graph := []*unstructured.Unstructured{bare("n0")}
	for i := range 1999 {
		o := bare(fmt.Sprint("n", i+1))
		o.SetAnnotations(map[string]string{
			"shop.example.com/" + manifests.AnnotationDependsOn: fmt.Sprintf("ConfigMap n%d, ConfigMap n%d", i, i/2),
		})
		graph = append(graph, o)
	}
	return graph
}

func normaliseGraph(b *testing.B, graph []*unstructured.Unstructured) []manifests.Object {
	b.Helper()
	objects, err := normalise.Manifests(graph, normalise.Options{
		Reconciler: "shop.example.com", Namespace: "shop",
		ScopeOf: func(schema.GroupVersionKind) (manifests.Scope, error) { return manifests.ScopeNamespaced, nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	return objects
}

// BenchmarkNormaliseOfAGraph normalises 2,000 objects that depend on each other, as each rendering does.
func BenchmarkNormaliseOfAGraph(b *testing.B) {
	graph := largeGraph()
	for b.Loop() {
		normaliseGraph(b, graph)
	}
}

// BenchmarkResolveGraph measures the part of BenchmarkNormaliseOfAGraph that finds the edges and cycles.
func BenchmarkResolveGraph(b *testing.B) {
	objects := normaliseGraph(b, largeGraph())
	slices.SortFunc(objects, func(a, b manifests.Object) int {
		return cmp.Or(cmp.Compare(a.Settings.Order, b.Settings.Order), cmp.Compare(a.Stage, b.Stage), a.Key.Compare(b.Key))
	})
	for b.Loop() {
		sorted, errs := depgraph.Resolve(slices.Clone(objects), depgraph.Refused{})
		if errs = append(errs, depgraph.CheckFlow(sorted, nil)...); len(errs) > 0 || len(sorted[1999].Edges()) == 0 {
			b.Fatalf("the objects have the errors %v", errs)
		}
	}
}
