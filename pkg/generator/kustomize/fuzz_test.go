package kustomize_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// The files of a kustomization are texts of a tenant. The file more.yaml can be anything that a kustomization names: a
// patch, a configuration of a plugin, a component.
func FuzzKustomization(f *testing.F) {
	const object = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: {b: c}}\n" +
		"spec: {template: {spec: {containers: [{name: d, image: e:1}]}}}\n"
	f.Add("resources: [a.yaml]\nnamePrefix: x-\nlabels: [{pairs: {a: b}, includeSelectors: true}]\n", object, "")
	f.Add("resources: [a.yaml]\npatches: [{path: more.yaml, target: {kind: D.*}}]\n", object,
		"- {op: copy, from: /spec, path: /spec/template/x}\n")
	f.Add("resources: [a.yaml]\nreplacements: [{source: {kind: Deployment}, targets: [{select: {name: a}, "+
		"fieldPaths: [spec.template.spec.containers.[name=d].image]}]}]\n", object, "")
	f.Add("resources: [a.yaml, .]\ntransformers: [more.yaml]\nimages: [{name: e, newTag: '2'}]\n", object,
		"apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: a}\nprefix: b-\n"+
			"fieldSpecs: [{path: metadata/name}]\n")
	f.Add("generators: [more.yaml]\nconfigMapGenerator: [{name: a, files: [a.yaml], literals: [a=b]}]\n", "a: &a [*a]",
		"apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: a}\n")
	f.Add("components: [.]\nconfigurations: [more.yaml]\ncrds: [a.yaml]\nopenapi: {path: more.yaml}\n", object,
		"nameReference: [{kind: A, fieldSpecs: [{path: a/b, kind: C}]}]\n")
	fuzzing.Run(f, func(t *testing.T, kustomization, resource, more string) {
		g, err := kustomize.New(sourceOf(map[string]string{
			"kustomization.yaml": kustomization, "a.yaml": resource, "more.yaml": more,
		}), kustomize.Options{Limits: generator.Limits{OutputBytes: 1 << 16, Duration: 5 * time.Second}})
		if err != nil {
			return
		}
		objects, err := g.Generate(t.Context(), generator.Request{})
		if err != nil && (objects != nil || strings.Contains(err.Error(), "panicked")) {
			t.Errorf("got %v, %v", objects, err)
		}
	})
}

// The patches and images of post-renderers are texts of a tenant.
func FuzzChanges(f *testing.F) {
	const object = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {b: c}}\n" +
		"spec: {containers: [{name: d, image: e}]}\n"
	f.Add("metadata: {labels: {b: null}}\n", "Pod", "a|b", "b=c,!d", "e", object)
	f.Add("- {op: add, path: /spec/containers/-, value: {}}\n- {op: move, from: /a, path: /b~1}\n", ".*", "",
		"", "", object)
	f.Add("spec: {containers: [{$patch: delete, name: d}]}\n$patch: merge\n", "", "", "b in (c, d)",
		"e:1@sha256:2", object)
	f.Add("$patch: delete\nmetadata: {name: a}\nkind: Pod\n", "(", "a{1000}", "b notin", "[", object+"---\n"+object)
	fuzzing.Run(f, func(t *testing.T, patch, kind, name, labels, image, stream string) {
		objects, err := manifests.Decode("f.yaml", []byte(stream))
		if err != nil {
			return
		}
		changes := kustomize.Changes{
			Patches: []kustomize.Patch{{Patch: patch, Target: &kustomize.Target{Kind: kind, Name: name, LabelSelector: labels}}},
			Images:  []kustomize.Image{{Name: image, NewTag: "1"}},
		}
		transformer, err := kustomize.NewTransformer(changes)
		if err != nil {
			return
		}
		changed, err := transformer.Transform(t.Context(), generator.Request{}, objects)
		if err != nil && (changed != nil || strings.Contains(err.Error(), "panicked")) {
			t.Errorf("got %v, %v", changed, err)
		}
	})
}
