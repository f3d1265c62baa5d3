package rendering

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// normalisedSet returns n normalised ConfigMaps.
func normalisedSet(t testing.TB, n int) []manifests.Object {
	t.Helper()
	set := make([]*unstructured.Unstructured, 0, n)
	for i := range n {
		data := map[string]any{}
		for v := range 30 {
			data[fmt.Sprintf("setting-%d", v)] = fmt.Sprintf("the value number %d of %d", v, i)
		}
		set = append(set, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": data,
			"metadata": map[string]any{"name": fmt.Sprintf("settings-%d", i)},
		}})
	}
	objects, err := normalise.Manifests(set, normalise.Options{
		Reconciler: "test.example.com", Namespace: "shop", Owner: manifests.Owner{
			Kind: "Set", Namespace: "shop",
			Name: "one",
		},
		ScopeOf: func(schema.GroupVersionKind) (manifests.Scope, error) { return manifests.ScopeNamespaced, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestAPackedObjectUnpacksToTheSameObject(t *testing.T) {
	objects := normalisedSet(t, 50)
	light, err := packObjects(objects)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range light {
		if o.Body != nil {
			t.Fatalf("the packed object %s still has its decoded manifest", o.Key)
		}
		whole, err := o.Whole()
		if err != nil {
			t.Fatal(err)
		}
		whole.Packed = nil
		if diff := cmp.Diff(objects[i], whole); diff != "" {
			t.Error(diff)
		}
	}
}

// BenchmarkPackedObjects measures the memory of a packed object: manifest, key, settings and digest.
func BenchmarkPackedObjects(b *testing.B) {
	const n = 2000
	for b.Loop() {
		before := liveHeap()
		light, err := packObjects(normalisedSet(b, n))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(liveHeap()-before)/n, "heap-B/object")
		runtime.KeepAlive(light)
	}
}

// liveHeap returns the size of the heap in bytes after a garbage collection. The second collection empties the pools
// whose content the first one kept.
func liveHeap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
