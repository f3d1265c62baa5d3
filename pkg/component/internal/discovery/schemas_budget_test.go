package discovery

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/budget"
)

const (
	// maxLive and maxPeak bound the heap of the schemas of 30 large definitions: while nothing is validated, and while an
	// object of each kind is.
	maxLive = 16 << 20
	maxPeak = 40 << 20
)

// largeDocument returns the document of 30 kinds. Each has 1,500 fields with descriptions and rules, like the largest
// definitions of public charts, such as those of prometheus-operator.
func largeDocument() string {
	var spec strings.Builder
	for i := range 60 {
		fmt.Fprintf(&spec,
			`,"part%d":{"description":"%s","type":"array","items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"}`,
			i, strings.Repeat("what this part is for ", 20))
		for j := range 24 {
			fmt.Fprintf(&spec,
				`,"field%d":{"description":"%s","type":"string","maxLength":%d,"pattern":"^[a-z]+$","enum":["a","b","c"]}`,
				j, strings.Repeat("what this field is for ", 10), 100+j)
		}
		spec.WriteString("}}}")
	}
	kinds := make([]string, 30)
	for i := range kinds {
		kinds[i] = fmt.Sprintf(
			`"com.example.v1.Kind%d":{"type":"object","properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},
			"metadata":{"allOf":[{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]},
			"spec":{"type":"object","properties":{"name":{"type":"string"}%s}}},
			"x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"Kind%d"}]}`, i, spec.String(), i)
	}
	return `{"components":{"schemas":{"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta":{"type":"object"},` +
		strings.Join(kinds, ",") + `}}}`
}

// TestTheSchemasOf30LargeDefinitionsNeedLittleMemory also shows that the memory for a check is that which is reserved.
func TestTheSchemasOf30LargeDefinitionsNeedLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles 45,000 fields")
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprintf("Kind%d", i))
	}
	before := heap()
	v := versionTypes{kinds: map[string]*Type{}}
	if err := v.compile(document{ctx: t.Context(), text: []byte(largeDocument())}, gv, names); err != nil {
		t.Fatal(err)
	}
	live := heap() - before
	var peak, reserved int64
	object := map[string]any{"spec": map[string]any{"part0": []any{map[string]any{"field0": "d"}}}}
	for _, name := range names {
		kind := v.kinds[name]
		if kind == nil || kind.custom == nil {
			t.Fatalf("%s has no schema", name)
		}
		ctx, end := budget.Scope(t.Context())
		check, err := kind.Values(ctx)
		if err != nil || len(check.Faults(object)) != 2 {
			t.Fatalf("%s finds %v (%v), want a field that is missing and a value", name, check.Faults(object), err)
		}
		peak, reserved = max(peak, heap()-before), max(reserved, kind.custom.Memory())
		runtime.KeepAlive(check)
		end()
	}
	t.Logf("live %.1f MiB, peak %.1f MiB, reserved for a kind %.1f MiB", mebibytes(live), mebibytes(peak),
		mebibytes(reserved))
	if live > maxLive || peak > maxPeak {
		t.Errorf("live %.1f MiB, peak %.1f MiB, want at most %.1f and %.1f",
			mebibytes(live), mebibytes(peak), mebibytes(maxLive), mebibytes(maxPeak))
	}
	if peak-live > reserved {
		t.Errorf("a kind takes %.1f MiB, and %.1f MiB are reserved", mebibytes(peak-live), mebibytes(reserved))
	}
	runtime.KeepAlive(v)
}

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }
