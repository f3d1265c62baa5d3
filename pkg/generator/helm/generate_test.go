package helm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

func dataOf(t *testing.T, object client.Object) map[string]string {
	t.Helper()
	decoded, ok := object.(*unstructured.Unstructured)
	if !ok {
		t.Fatalf("got a %T", object)
	}
	data, _, err := unstructured.NestedStringMap(decoded.Object, "data")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Values enable sub-charts in this test, and Helm changes the chart to disable a sub-chart.
func TestConcurrentRenderingsDoNotInfluenceEachOther(t *testing.T) {
	g, err := helm.New(chartOf(map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: demo\nversion: 0.0.1\n" +
			"dependencies: [{name: sub, alias: other, version: '*', condition: other.enabled, import-values: [{child: shared, " +
			"parent: imported}]}]\n",
		"templates/a.yaml": configMap +
			"data: {number: {{ .Values.number | quote }}, imported: {{ dig \"imported\" \"word\" \"none\" .Values.AsMap }}}\n",
		"charts/sub/Chart.yaml":       "apiVersion: v2\nname: sub\nversion: 0.0.1\n",
		"charts/sub/values.yaml":      "shared: {word: hello}\n",
		"charts/sub/templates/b.yaml": strings.Replace(configMap, "name: a", "name: b", 1),
	}), helm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			enabled := i%2 == 0
			objects, err := g.Generate(t.Context(), generator.Request{Parameters: map[string]any{
				"number": fmt.Sprint(i),
				"other":  map[string]any{"enabled": enabled},
			}})
			if err != nil {
				t.Error(err)
				return
			}
			wantObjects, wantImported := 1, "none"
			if enabled {
				wantObjects, wantImported = 2, "hello"
			}
			data := dataOf(t, objects[len(objects)-1])
			if len(objects) != wantObjects || data["number"] != fmt.Sprint(i) || data["imported"] != wantImported {
				t.Errorf("rendering %d: %d objects, %v", i, len(objects), data)
			}
		})
	}
	group.Wait()
}

func TestGenerateReturnsWhenItsContextIsDone(t *testing.T) {
	g, err := helm.New(
		chartOf(map[string]string{"templates/a.yaml": `{{ lookup "v1" "Secret" "a" "b" }}`}),
		helm.Options{},
	)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	target := blockingLookup{entered: cancel, release: release}
	if _, err := g.Generate(ctx, generator.Request{Target: target}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := g.Generate(ctx, generator.Request{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// blockingLookup returns when the channel release is closed, even if its context has ended.
type blockingLookup struct {
	generator.Lookup
	entered func()
	release chan struct{}
}

func (l blockingLookup) Get(
	context.Context,
	schema.GroupVersionKind,
	string,
	string,
) (*unstructured.Unstructured, error) {
	l.entered()
	<-l.release
	return &unstructured.Unstructured{}, nil
}

func TestLookup(t *testing.T) {
	text := configMap + `data: {empty: {{ empty (lookup "example.com/v1" "Thing" "" "a") | quote }}}`
	g, err := helm.New(chartOf(map[string]string{"templates/a.yaml": text}), helm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("finds no object of a kind that is not served", func(t *testing.T) {
		objects, err := g.Generate(t.Context(), generator.Request{Target: failingLookup{err: &meta.NoKindMatchError{}}})
		if err != nil {
			t.Fatal(err)
		}
		if data := dataOf(t, objects[0]); data["empty"] != "true" {
			t.Errorf("got %v", data)
		}
	})
	t.Run("returns an error if reading is forbidden", func(t *testing.T) {
		forbidden := apierrors.NewForbidden(
			schema.GroupResource{Group: "example.com", Resource: "things"},
			"a",
			errors.New("no"),
		)
		_, err := g.Generate(t.Context(), generator.Request{Target: failingLookup{err: forbidden}})
		if err == nil || !strings.Contains(err.Error(), "demo/templates/a.yaml:5") ||
			!strings.Contains(err.Error(), "forbidden") {
			t.Errorf("got %v", err)
		}
	})
}

type failingLookup struct {
	generator.Lookup
	err error
}

func (l failingLookup) Get(
	context.Context,
	schema.GroupVersionKind,
	string,
	string,
) (*unstructured.Unstructured, error) {
	return nil, l.err
}
