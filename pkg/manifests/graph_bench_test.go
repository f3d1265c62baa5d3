package manifests

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// largeGraph returns the manifests of 2,000 objects that depend on each other. Each depends on two objects.
func largeGraph() []*unstructured.Unstructured {
	graph := []*unstructured.Unstructured{built("v1", "ConfigMap", "shop", "n0", "")}
	for i := range 1999 {
		o := built("v1", "ConfigMap", "shop", fmt.Sprint("n", i+1), "")
		o.SetAnnotations(map[string]string{
			"shop.example.com/" + AnnotationDependsOn: fmt.Sprintf("ConfigMap n%d, ConfigMap n%d", i, i/2),
		})
		graph = append(graph, o)
	}
	return graph
}

func normaliseGraph(b *testing.B, graph []*unstructured.Unstructured) []Object {
	b.Helper()
	objects, err := Normalise(graph, NormaliseOptions{
		Reconciler: "shop.example.com", Namespace: "shop",
		ScopeOf: func(schema.GroupVersionKind) (Scope, error) { return ScopeNamespaced, nil },
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
	slices.SortFunc(objects, compareApply)
	for b.Loop() {
		sorted, errs := resolveGraph(slices.Clone(objects), refusals{})
		if errs = append(errs, checkFlow(sorted, nil)...); len(errs) > 0 || len(sorted[1999].Edges()) == 0 {
			b.Fatalf("the objects have the errors %v", errs)
		}
	}
}
