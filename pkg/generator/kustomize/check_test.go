package kustomize_test

import (
	"testing"
	"testing/fstest"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/generatortest"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
)

func TestAReconcilerCanRelyOnIt(t *testing.T) {
	source := fstest.MapFS{
		"kustomization.yaml": {
			Data: []byte("resources: [a.yaml, b.yaml]\nconfigMapGenerator: [{name: c, literals: [a=b]}]"),
		},
		"a.yaml": {Data: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {x: v}}}")},
		"b.yaml": {Data: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {x: v}}")},
	}
	g, err := kustomize.New(source, kustomize.Options{})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := kustomize.NewTransformer(kustomize.Changes{
		Patches: []kustomize.Patch{{Patch: "{data: {z: z}}", Target: &kustomize.Target{Name: "a"}}}, Namespace: "prod",
	})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := kustomize.New(fstest.MapFS{"a.yaml": source["a.yaml"]}, kustomize.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, g := range map[string]generator.Generator{
		"a kustomization": g, "a folder": plain, "changes": generator.Chain(g, changes),
	} {
		t.Run(name, func(t *testing.T) {
			generatortest.Check(
				t,
				g,
				generatortest.Options{},
				generator.Request{Namespace: "apps", Name: "a"},
				generator.Request{Namespace: "apps", Name: "b"},
			)
		})
	}
}
