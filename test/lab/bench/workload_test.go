package main

import (
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/gotemplate"
)

// render returns the dependents of a workload's first component.
func render(t *testing.T, w workload) []*unstructured.Unstructured {
	t.Helper()
	c, err := w.component(0)
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for name, content := range c.Spec.Source.Inline.Files {
		files[name] = &fstest.MapFile{Data: []byte(content)}
	}
	parameters, err := c.GetParameters()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := gotemplate.New(files, gotemplate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := engine.Generate(t.Context(), generator.Request{
		Namespace: c.Namespace, Name: c.Name,
		Parameters: parameters,
	})
	if err != nil {
		t.Fatal(err)
	}
	var rendered []*unstructured.Unstructured
	for _, object := range objects {
		o, ok := object.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("want an unstructured object, got the type %T", object)
		}
		rendered = append(rendered, o)
	}
	return rendered
}

func TestTheFloorWritesWhatAComponentRenders(t *testing.T) {
	of := size{components: 1, dependents: 3, waves: 1}
	floor, rendered := floorOf(of), render(t, configMapsOf("a", of))
	if len(floor) != len(rendered) {
		t.Fatalf("the bare client applies %d objects, but the component renders %d", len(floor), len(rendered))
	}
	for i := range floor {
		want, got := asJSON(t, floor[i]), asJSON(t, rendered[i])
		if want != got {
			t.Errorf("the bare client applies %s, but the component renders %s", want, got)
		}
	}
}

func TestTenKindsHoldAsManyObjectsAsWanted(t *testing.T) {
	kinds := map[string]int{}
	for _, o := range render(t, workload{templates: ofTenKinds, components: 1, values: values{Count: 50}}) {
		kinds[o.GetKind()]++
	}
	if len(kinds) != len(tenKinds) {
		t.Errorf("want objects of ten kinds, got %v", kinds)
	}
	for kind, n := range kinds {
		if n != 5 {
			t.Errorf("got %d objects of the kind %s, want 5, a tenth of 50", n, kind)
		}
	}
}

func TestObjectsThatAreRememberedHaveTwoKibibytes(t *testing.T) {
	total := 0
	objects := render(t, workload{templates: ofTenKinds, components: 1, values: values{Count: 10, Ballast: ballastPieces}})
	for _, o := range objects {
		total += len(asJSON(t, o))
	}
	if mean := total / len(objects); mean < 1900 || mean > 2200 {
		t.Errorf("the objects have %d bytes on average, want about 2000", mean)
	}
}

func asJSON(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	content, err := json.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
