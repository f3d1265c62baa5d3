package kustomize_test

import (
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
)

func TestOriginsDoNotChangeTheRendering(t *testing.T) {
	g, err := kustomize.New(nil, kustomize.Options{})
	if err != nil {
		t.Fatal(err)
	}
	annotated := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {b: c}}\n"
	for _, c := range []struct{ name, kustomization, file string }{
		{"a list of resources", "resources: [a.yaml]", "a.yaml"},
		{"a kustomization that asks for origins", "resources: [a.yaml]\nbuildMetadata: [originAnnotations]", "a.yaml"},
		{"a kustomization to which no field can be added", `{"resources": ["a.yaml"]}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := sourceOf(map[string]string{"kustomization.yaml": c.kustomization, "a.yaml": annotated})
			rendered := func(locate func(generator.Origin)) map[string]string {
				objects, err := g.Generate(t.Context(), generator.Request{Source: source, SourceDigest: c.name, Locate: locate})
				if err != nil || len(objects) != 1 {
					t.Fatalf("got %v, %v", objects, err)
				}
				o, ok := objects[0].(*unstructured.Unstructured)
				if !ok {
					t.Fatalf("got %T", objects[0])
				}
				return o.GetAnnotations()
			}
			file := ""
			got := rendered(func(o generator.Origin) { file = o.File })
			if want := rendered(nil); !maps.Equal(got, want) || file != c.file {
				t.Errorf("got the annotations %v of the file %q, want %v of %q", got, file, want, c.file)
			}
		})
	}
}
