package observe

import (
	"fmt"
	"runtime"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// numbered returns the metadata of a ConfigMap, as the API server sends it. Its strings share no memory with other
// ConfigMaps.
func numbered(i int) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: fmt.Sprint("team-", i%20), Name: fmt.Sprint("settings-of-something-", i),
		UID: types.UID(fmt.Sprintf("8f0c1f0e-6f0a-4f7e-9b53-%012d", i)), ResourceVersion: fmt.Sprint(100_000 + i),
		Labels: map[string]string{reconciler + "/" + manifests.LabelOwnerID: fmt.Sprintf("owner-of-objects-%d", i%20)},
		Annotations: map[string]string{
			reconciler + "/" + manifests.AnnotationOwnerID: fmt.Sprintf(
				"7e0c1f0e-6f0a-4f7e-9b53-2d5f0d0a3c11/example.com/Shop/team-%d/app",
				i%20,
			),
			reconciler + "/" + marks.AnnotationDigest: fmt.Sprintf("%016x", i),
		},
	}}
	m.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: reconciler, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1",
		FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(`{"f:data":{"f:key-%d":{}}}`, i)),
	}}
	return m
}

// BenchmarkRecords measures the memory that the stored facts of one object take.
func BenchmarkRecords(b *testing.B) {
	const n = 10_000
	for b.Loop() {
		o := New(b.Context(), Options{Reconciler: reconciler})
		w := addWatch(o, Reader{}, WatchedResource{Type: configMaps}, func() {})
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range n {
			if err := w.Add(numbered(i)); err != nil {
				b.Fatal(err)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "heap-B/object")
		runtime.KeepAlive(w)
	}
}
