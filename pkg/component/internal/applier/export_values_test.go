package applier

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/internal/packed"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// setWithHoles returns a set of n objects that have a hole each, in packed form, and of objects that export values. Each
// object uses one of the values. The format of a hole contains the numbers of the value and of the object. Also
// returned are the facts with these values.
func setWithHoles(t testing.TB, n, exports int, hole string) ([]manifests.Object, plan.Facts) {
	t.Helper()
	f := plan.Facts{Owner: component.ID(), Live: plan.Snapshot{}, Inventory: plan.Inventory{}, Revision: 1}
	var set []*unstructured.Unstructured
	add := func(name string, settings, data map[string]any) {
		set = append(set, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": data,
			"metadata": map[string]any{"name": name, "namespace": "shop", "annotations": settings},
		}})
	}
	for i := range exports {
		name := fmt.Sprint("source-", i)
		add(name, map[string]any{reconciler + "/export": fmt.Sprintf("value%d=self.data.x", i)}, map[string]any{"x": "1"})
		key := manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: name}
		f.Live[key] = &plan.Observed{
			Presence: plan.Present, Owner: f.Owner, UID: "u", Digest: "d", Readiness: ready.Result{State: ready.Ready},
			Exports: plan.NewExports(map[string]any{fmt.Sprintf("value%d", i): "1"}, nil),
		}
		f.Inventory[key] = metav1alpha1.InventoryEntry{UID: "u", Digest: "d", Revision: f.Revision}
	}
	for i := range n {
		add(fmt.Sprint("reader-", i), map[string]any{reconciler + "/bind": "true"},
			map[string]any{"url": fmt.Sprintf("https://"+hole, i%exports, i)})
	}
	objects, err := normalise.Manifests(set, normalise.Options{
		Reconciler: reconciler, Namespace: "shop",
		ScopeOf: func(schema.GroupVersionKind) (manifests.Scope, error) { return manifests.ScopeNamespaced, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	bodies := make([]*unstructured.Unstructured, 0, len(objects))
	for _, o := range objects {
		bodies = append(bodies, o.Body)
	}
	contents, err := packed.Pack(bodies)
	if err != nil {
		t.Fatal(err)
	}
	for i := range objects {
		objects[i].Body, objects[i].Packed = nil, contents[i]
	}
	f.Desired = objects
	return objects, f
}

// BenchmarkBind fills the holes of 2,000 objects, as each pass does.
func BenchmarkBind(b *testing.B) {
	for _, c := range []struct {
		name    string
		exports int
		hole    string
	}{
		{"1 export", 1, "${{ value%d }}/%d"},
		{"256 exports", 256, "${{ value%d }}/%d"},
		{"different expressions", 256, "${{ value%d + '/%d' }}"},
	} {
		b.Run(c.name, func(b *testing.B) {
			objects, f := setWithHoles(b, 2000, c.exports, c.hole)
			binder := newBinder(reconciler, objects, nil)
			for b.Loop() {
				if bound := binder.Bind(b.Context(), f); len(bound.Unbound) > 0 || len(bound.Desired) != len(objects) {
					b.Fatalf("%d of %d objects are not bound: %v", len(bound.Unbound), len(objects), bound.Unbound)
				}
			}
		})
	}
}
