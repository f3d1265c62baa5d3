package kustomize_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
)

// doublingPatch returns a JSON patch whose operations double the data of an object each time.
func doublingPatch(times int) string {
	var patch strings.Builder
	for i := range times {
		fmt.Fprintf(&patch, "- {op: copy, from: /data, path: /data/a%d}\n", i)
	}
	return patch.String()
}

// copyingPatches returns entries of patches, each with an operation that copies a field of the data.
func copyingPatches(count int) string {
	var patches strings.Builder
	for i := range count {
		fmt.Fprintf(&patches,
			"- {target: {kind: ConfigMap}, patch: '[{\"op\": \"copy\", \"from\": \"/data/k\", \"path\": \"/data/a%d\"}]'}\n", i)
	}
	return patches.String()
}

// replacement returns a replacement that creates a field.
func replacement(fieldPath, name string) string {
	return fmt.Sprintf("replacements: [{source: {kind: ConfigMap, name: a}, targets: [{select: {name: '%s'}, fieldPaths: "+
		"['%s'], options: {create: true}}]}]\n",
		name, fieldPath)
}

// Without limits, each of these sources would exhaust the memory or the stack of the operator.
func TestSourcesThatWouldHurtTheOperatorEnd(t *testing.T) {
	const (
		configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n"
		nested    = "nest more than 1000 deep"
		many      = "more than 250000 maps, lists, values and keys"
		resources = "resources: [a.yaml]\n"
	)
	nodes := func(count int) string { return "x: [" + strings.Repeat("{},", count) + "]\n" }
	large := "---\n" + strings.Replace(configMap, "k: v", "k: "+strings.Repeat("v", 400_000), 1)
	var objects string
	for i := range 12 {
		objects += strings.Replace(large, "name: a", fmt.Sprintf("name: a%d", i), 1)
	}
	bases := map[string]string{
		"kustomization.yaml": "resources:\n", "base/a.yaml": configMap + nodes(70_000),
		"base/kustomization.yaml": resources,
	}
	for i := range 4 {
		bases["kustomization.yaml"] += fmt.Sprintf("- o%d\n", i)
		bases[fmt.Sprintf("o%d/kustomization.yaml", i)] = fmt.Sprintf("resources: [../base]\nnamePrefix: p%d\n", i)
	}
	cases := map[string]struct {
		files map[string]string
		want  string
	}{
		"a manifest with many nodes": {
			map[string]string{"kustomization.yaml": resources, "a.yaml": configMap + nodes(300_000)}, "a.yaml: line 5: " + many,
		},
		"a manifest that is deep": {
			map[string]string{"kustomization.yaml": resources, "a.yaml": configMap + "x: " + strings.Repeat("[", 9000) +
				strings.Repeat("]", 9000)},
			"a.yaml: line 5: maps and lists " + nested,
		},
		"a manifest that is deep on a line": {
			map[string]string{"kustomization.yaml": resources, "a.yaml": configMap + "x:\n" + strings.Repeat("- ", 9000) + "a"},
			nested,
		},
		"a kustomization with many nodes":   {map[string]string{"kustomization.yaml": nodes(300_000)}, many},
		"a file that several overlays read": {bases, "reads more than 250000 maps, lists, values and keys"},
		"plain manifests with many nodes": {
			map[string]string{"a.yaml": configMap + nodes(240_000)},
			"more than 200000 maps",
		},
		"a patch that is deep": {map[string]string{"kustomization.yaml": resources +
			"patches: [{path: p.yaml}]\n", "a.yaml": configMap, "p.yaml": strings.Repeat("[", 100_000)}, "p.yaml"},
		"a patch whose copies double": {
			map[string]string{
				"kustomization.yaml": resources + "patches: [{path: p.yaml, target: {kind: ConfigMap}}]\n", "a.yaml": configMap,
				"p.yaml": doublingPatch(60),
			},
			"the accumulated size increase of copy is",
		},
		"many patches that copy": {
			map[string]string{"kustomization.yaml": resources + "patches:\n" + copyingPatches(20), "a.yaml": large},
			"the accumulated size increase of copy is",
		},
		"a patch that copies in many objects": {
			map[string]string{"kustomization.yaml": resources + "patches:\n" + copyingPatches(1), "a.yaml": objects},
			"the accumulated size increase of copy is",
		},
		"plugins that copy": {
			map[string]string{
				"kustomization.yaml": resources + "transformers: [t.yaml]\n", "a.yaml": objects,
				"t.yaml": "{apiVersion: builtin, kind: PatchTransformer, metadata: {name: t}, target: {kind: ConfigMap}, patch: " +
					"'[{\"op\": \"copy\", \"from\": \"/data/k\", \"path\": \"/data/b\"}]'}",
			},
			"the accumulated size increase of copy is",
		},
		"a path of a replacement that is deep": {
			map[string]string{
				"kustomization.yaml": resources + replacement(strings.Repeat("a.", 100_000)+"a", "a"),
				"a.yaml":             configMap,
			},
			"replacements[0].targets[0].fieldPaths: the path",
		},
		"a path of a label that is deep": {
			map[string]string{"kustomization.yaml": resources + "labels: [{pairs: {a: b}, fields: [{create: true, path: " +
				strings.Repeat("a/", 100_000) + "a}]}]", "a.yaml": configMap},
			"labels[0].fields[0].path: the path",
		},
		"a large regular expression in a path of a replacement": {
			map[string]string{"kustomization.yaml": resources + replacement("data.[k=("+strings.Repeat("ab", 100)+"){1000}]",
				"a"), "a.yaml": configMap},
			"replacements[0].targets[0].fieldPaths: the regular expressions in the path",
		},
		"a large regular expression of a target of a replacement": {
			map[string]string{
				"kustomization.yaml": resources + "replacements: [{path: r.yaml}]", "a.yaml": configMap,
				"r.yaml": strings.TrimPrefix(replacement("data.k", "("+strings.Repeat("ab", 100)+"){1000}"), "replacements: "),
			},
			"r.yaml: [0].targets[0].select.name: the regular expression",
		},
		"a large regular expression of a target": {
			map[string]string{
				"kustomization.yaml": resources + "patches: [{path: p.yaml, target: {name: '(" + strings.Repeat("ab", 100) +
					"){1000}'}}]\n",
				"a.yaml": configMap, "p.yaml": configMap,
			},
			"kustomization.yaml: patches[0].target.name: the regular expression",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			source := fstest.MapFS{}
			for file, text := range c.files {
				source[file] = &fstest.MapFile{Data: []byte(text)}
			}
			g, err := kustomize.New(source, kustomize.Options{})
			if err == nil {
				_, err = g.Generate(t.Context(), generator.Request{Name: "a"})
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q, got %.1000v", c.want, err)
			}
		})
	}
}

func TestPatchesMayCopySmallFieldsOfManyObjects(t *testing.T) {
	var objects string
	for i := range 100 {
		objects += fmt.Sprintf("---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a%d}, data: {k: %s}}\n", i,
			strings.Repeat("v", 1000))
	}
	g, err := kustomize.New(fstest.MapFS{
		"kustomization.yaml": {Data: []byte("resources: [a.yaml]\npatches:\n" + copyingPatches(3))},
		"a.yaml":             {Data: []byte(objects)},
	}, kustomize.Options{})
	if err == nil {
		_, err = g.Generate(t.Context(), generator.Request{Name: "a"})
	}
	if err != nil {
		t.Error(err)
	}
}

func TestPatchesThatWouldHurtTheOperatorEnd(t *testing.T) {
	target := &kustomize.Target{Kind: "ConfigMap"}
	for name, c := range map[string]struct {
		patch kustomize.Patch
		want  string
	}{
		"many nodes": {
			kustomize.Patch{Patch: "x: [" + strings.Repeat("{},", 300_000) + "]"},
			"more than 200000 maps",
		},
		"a deep patch": {
			kustomize.Patch{Patch: strings.Repeat("[", 2000) + strings.Repeat("]", 2000)},
			"nest more than 1000 deep",
		},
		"a large regular expression": {kustomize.Patch{
			Patch:  "a: b",
			Target: &kustomize.Target{Name: "(" + strings.Repeat("ab", 100) + "){1000}"},
		}, "compiles to more than"},
		"copies that double": {
			kustomize.Patch{Patch: doublingPatch(60), Target: target},
			"the accumulated size increase of copy is",
		},
	} {
		t.Run(name, func(t *testing.T) {
			transformer, err := kustomize.NewTransformer(kustomize.Changes{Patches: []kustomize.Patch{c.patch}})
			if err == nil {
				object := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"k": "v"},
				}}
				_, err = transformer.Transform(context.Background(), generator.Request{}, []*unstructured.Unstructured{object})
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q, got %.1000v", c.want, err)
			}
		})
	}
}
