package kustomize_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
)

func TestConcurrentBuilds(t *testing.T) {
	shared, err := kustomize.New(nil, kustomize.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			prefix := fmt.Sprintf("p%d-", i%4)
			source := sourceOf(
				map[string]string{
					"kustomization.yaml": "namePrefix: " + prefix + "\nresources: [a.yaml]",
					"a.yaml":             configMap,
				},
			)
			objects, err := shared.Generate(t.Context(), generator.Request{Source: source, SourceDigest: prefix})
			if err != nil {
				t.Error(err)
				return
			}
			if len(objects) != 1 || objects[0].GetName() != prefix+"a" {
				t.Errorf("want %sa, got %v", prefix, objects)
			}
		})
	}
	group.Wait()
}

func TestGenerateReturnsWhenItsContextIsDone(t *testing.T) {
	g, err := kustomize.New(sourceOf(map[string]string{"a.yaml": configMap}), kustomize.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Generate(ctx, generator.Request{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestARequestWithoutSourceIsAnError(t *testing.T) {
	g, err := kustomize.New(nil, kustomize.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Generate(t.Context(), generator.Request{}); err == nil ||
		!strings.Contains(err.Error(), "no source") {
		t.Errorf("got %v", err)
	}
}

// The kustomize library keeps the schema of a kustomization in a global variable. Other kustomizations must not use it.
func TestASchemaConcernsOnlyItsKustomization(t *testing.T) {
	const schema = `{"definitions": {"Thing": {"type": "object",
		"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}],
		"properties": {"parts": {"type": "array", "items": {"type": "object"},
			"x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge"}}}}}`
	parts := func(kustomization string) int {
		t.Helper()
		g, err := kustomize.New(sourceOf(map[string]string{
			"kustomization.yaml": "resources: [a.yaml]\npatches: [{path: patch.yaml}]\n" + kustomization,
			"a.yaml":             "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, parts: [{name: one}]}",
			"patch.yaml":         "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, parts: [{name: two}]}",
			"schema.json":        schema,
		}), kustomize.Options{})
		if err != nil {
			t.Fatal(err)
		}
		objects, err := g.Generate(t.Context(), generator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		decoded, ok := objects[0].(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("got a %T", objects[0])
		}
		parts, _, err := unstructured.NestedSlice(decoded.Object, "parts")
		if err != nil {
			t.Fatal(err)
		}
		return len(parts)
	}
	if n := parts("openapi: {path: schema.json}"); n != 2 {
		t.Errorf("the schema merges the list: want 2 parts, got %d", n)
	}
	if n := parts(""); n != 1 {
		t.Errorf("without a schema the patch replaces the list: want 1 part, got %d", n)
	}
}

func TestNamesThatKyamlRefusesAreFine(t *testing.T) {
	g, err := kustomize.New(sourceOf(map[string]string{
		"kustomization.yaml":                                "resources: ['components/ha-1.21+/with space']",
		"components/ha-1.21+/with space/a.yaml":             configMap,
		"components/ha-1.21+/with space/.hidden":            "",
		"components/ha-1.21+/with space/kustomization.yaml": "resources: [a.yaml]",
	}), kustomize.Options{})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := g.Generate(t.Context(), generator.Request{})
	if err != nil || len(objects) != 1 {
		t.Errorf("want one object, got %v, %v", objects, err)
	}
}
