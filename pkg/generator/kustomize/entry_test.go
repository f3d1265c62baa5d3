package kustomize_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
)

func TestAnEntryIsRenderedAsTheTopOfTheBuild(t *testing.T) {
	source := sourceOf(map[string]string{
		"base/kustomization.yaml":    "resources: [a.yaml]",
		"base/a.yaml":                configMap,
		"overlay/kustomization.yaml": "resources: [../base]\nbuildMetadata: [originAnnotations]",
		"part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" +
			"resources: [../base]\nnamePrefix: part-",
		"plain/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n",
	})
	cases := map[string]struct {
		folder, name, origin string
	}{
		"an overlay with buildMetadata, which is allowed only at the top of a build": {
			folder: "overlay", name: "a", origin: "path: ../base/a.yaml\n",
		},
		"a component":     {folder: "part", name: "part-a"},
		"plain manifests": {folder: "./plain/", name: "b"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g, err := kustomize.New(kustomize.At(source, c.folder), kustomize.Options{})
			if err != nil {
				t.Fatal(err)
			}
			objects, err := g.Generate(t.Context(), generator.Request{})
			if err != nil {
				t.Fatal(err)
			}
			if len(objects) != 1 || objects[0].GetName() != c.name {
				t.Fatalf("want only %s, got %v", c.name, objects)
			}
			if got := objects[0].GetAnnotations()["config.kubernetes.io/origin"]; got != c.origin {
				t.Errorf("origin: want %q, got %q", c.origin, got)
			}
		})
	}
}

func TestAnEntryMayNotLeaveTheSource(t *testing.T) {
	source := sourceOf(map[string]string{"overlay/kustomization.yaml": "resources: [../../base]"})
	if _, err := kustomize.New(kustomize.At(source, "overlay"), kustomize.Options{}); err == nil {
		t.Error("no error")
	}
}
