package packed_test

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/internal/packed"
)

// sampleSet returns manifests of about 2 KiB each, like those of a chart.
func sampleSet(n int) []*unstructured.Unstructured {
	set := make([]*unstructured.Unstructured, 0, n)
	for i := range n {
		name := fmt.Sprintf("web-%d", i)
		var variables []any
		for v := range 30 {
			variables = append(
				variables,
				map[string]any{"name": fmt.Sprintf("SETTING_%d", v), "value": fmt.Sprintf("%s-%d", name, v*i)},
			)
		}
		set = append(set, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": name, "namespace": "shop", "labels": map[string]any{"app": name}},
			"spec": map[string]any{
				"replicas": int64(i),
				"selector": map[string]any{"matchLabels": map[string]any{"app": name}},
				"template": map[string]any{
					"metadata": map[string]any{"labels": map[string]any{"app": name}},
					"spec": map[string]any{
						"containers": []any{
							map[string]any{"name": "app", "image": "registry.example.com/web:1.0", "env": variables},
						},
					},
				},
			},
		}})
	}
	return set
}

func TestUnpackReturnsThePackedManifests(t *testing.T) {
	for _, c := range []struct {
		name   string
		bodies []*unstructured.Unstructured
	}{
		{"none", nil},
		{"one", sampleSet(1)},
		{"several blocks", sampleSet(100)},
		{"a manifest that is larger than a block, followed by another manifest", append([]*unstructured.Unstructured{
			{Object: map[string]any{"data": map[string]any{"text": strings.Repeat("large ", 100_000)}}},
		}, sampleSet(1)...)},
		{"values of all types, and letters outside of ASCII", []*unstructured.Unstructured{{Object: map[string]any{
			"integer": int64(math.MaxInt64), "float": 0.5, "true": true, "nothing": nil,
			"list": []any{int64(1), "two", map[string]any{}}, "text": "<a> & \u2028 ü\n",
		}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			light, err := packed.Pack(c.bodies)
			if err != nil {
				t.Fatal(err)
			}
			got, err := packed.Unpack(light)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(c.bodies) {
				t.Fatalf("%d of %d manifests were unpacked", len(got), len(c.bodies))
			}
			for i := range got {
				if diff := cmp.Diff(c.bodies[i].Object, got[i].Object); diff != "" {
					t.Errorf("manifest %d:\n%s", i, diff)
				}
			}
		})
	}
}

func TestPackRefusesInvalidManifests(t *testing.T) {
	bad := &unstructured.Unstructured{
		Object: map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"name": "bad"}, "data": math.NaN()},
	}
	for _, c := range []struct {
		name string
		body *unstructured.Unstructured
		want string
	}{
		{"a value that JSON cannot represent", bad, "ConfigMap bad: the manifest cannot be written as JSON"},
		{"nil", nil, "manifest 2 is nil"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := packed.Pack(append(sampleSet(1), c.body))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestUnpackReturnsACopy(t *testing.T) {
	light, err := packed.Pack(sampleSet(2))
	if err != nil {
		t.Fatal(err)
	}
	first, err := light[1].Unpack()
	if err != nil {
		t.Fatal(err)
	}
	first.SetName("changed")
	again, err := light[1].Unpack()
	if err != nil || again.GetName() != "web-1" {
		t.Errorf("got %s, %v", again.GetName(), err)
	}
}

func TestUnpackIsSafeForConcurrentUse(t *testing.T) {
	light, err := packed.Pack(sampleSet(200))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range light {
				if i%50 == 0 {
					runtime.GC() // frees decompressed blocks
				}
				if body, err := light[i].Unpack(); err != nil || body.GetName() != fmt.Sprintf("web-%d", i) {
					t.Errorf("manifest %d: %v, %v", i, body, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestUnpackOfTheZeroValueFails(t *testing.T) {
	if body, err := (packed.Manifest{}).Unpack(); err == nil {
		t.Errorf("got %v", body)
	}
}

func TestPackReducesAChartToATenth(t *testing.T) {
	set := sampleSet(1000)
	plain := 0
	for _, body := range set {
		text, err := body.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		plain += len(text)
	}
	light, err := packed.Pack(set)
	if err != nil {
		t.Fatal(err)
	}
	if size := packed.Size(light); size == 0 || size > plain/10 {
		t.Errorf("%d bytes of JSON take %d", plain, size)
	}
}

func BenchmarkPack(b *testing.B) {
	set := sampleSet(1000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := packed.Pack(set); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnpackAll(b *testing.B) {
	light, err := packed.Pack(sampleSet(1000))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := packed.Unpack(light); err != nil {
			b.Fatal(err)
		}
	}
}
