package kustomize_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func decode(t *testing.T, stream string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := manifests.Decode("test.yaml", []byte(stream))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func textOf(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	text, err := yaml.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func transform(t *testing.T, changes kustomize.Changes, stream string) ([]*unstructured.Unstructured, error) {
	t.Helper()
	transformer, err := kustomize.NewTransformer(changes)
	if err != nil {
		return nil, err
	}
	return transformer.Transform(t.Context(), generator.Request{Namespace: "apps", Name: "shop"}, decode(t, stream))
}

func expectChanged(t *testing.T, changes kustomize.Changes, before, after string) {
	t.Helper()
	got, err := transform(t, changes, before)
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(textOf(t, decode(t, after)), textOf(t, got)); difference != "" {
		t.Errorf("-want +got:\n%s", difference)
	}
}

const deployments = `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {tier: front}}, spec: {replicas: 1, template: {spec: {containers: [{name: web, image: nginx:1.27, env: [{name: A, value: "1"}]}]}}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: api}, spec: {replicas: 1, template: {spec: {containers: [{name: api, image: "example.com/api@sha256:1234"}]}}}}
`

func TestAPatchWithoutTargetChangesTheObjectThatItNames(t *testing.T) {
	expectChanged(t, kustomize.Changes{Patches: []kustomize.Patch{{Patch: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 3, template: {spec: {containers: [{name: web, env: [{name: B, value: "2"}]}]}}}
`}}}, deployments, `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {tier: front}}, spec: {replicas: 3, template: {spec: {containers: [{name: web, image: nginx:1.27, env: [{name: B, value: "2"}, {name: A, value: "1"}]}]}}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: api}, spec: {replicas: 1, template: {spec: {containers: [{name: api, image: "example.com/api@sha256:1234"}]}}}}
`)
}

func TestAPatchWithoutNamespaceChangesTheObjectInTheNamespaceOfTheComponent(t *testing.T) {
	web := func(namespace, data string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: web" + namespace + "}" + data + "}\n---\n"
	}
	const own, other, patched = ", namespace: apps", ", namespace: other", ", data: {n: 12345678901234567}"
	for name, c := range map[string]struct{ patch, before, after string }{
		"the only object of the name": {web("", patched), web(own, ""), web(own, patched)},
		"and not the object in another namespace": {
			web("", patched), web(other, "") + web(own, ""),
			web(other, "") + web(own, patched),
		},
		"but the object without a namespace, if any": {
			web("", patched), web("", "") + web(other, ""),
			web("", patched) + web(other, ""),
		},
		"and a patch with a namespace is not changed": {
			web(other, patched), web(own, "") + web(other, ""),
			web(own, "") + web(other, patched),
		},
	} {
		t.Run(name, func(t *testing.T) {
			expectChanged(t, kustomize.Changes{Patches: []kustomize.Patch{{Patch: c.patch}}}, c.before, c.after)
		})
	}
	for name, other := range map[string]string{
		"not an object in another namespace": web(other, ""),
		"not an object of another kind":      strings.Replace(web(own, ""), "ConfigMap", "Secret", 1),
		"not an object of another name":      strings.Replace(web(own, ""), "web", "api", 1),
		"not an object of another version":   strings.Replace(web(own, ""), "v1", "example.com/v1", 1),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := transform(t, kustomize.Changes{Patches: []kustomize.Patch{{Patch: web("", patched)}}}, other)
			if err == nil || !strings.HasPrefix(err.Error(), "patches[0]: ") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestPatchesAreAppliedInTheirOrderToTheirTargets(t *testing.T) {
	replicas := func(target kustomize.Target, value string) kustomize.Patch {
		return kustomize.Patch{Target: &target, Patch: "[{op: replace, path: /spec/replicas, value: " + value + "}]"}
	}
	for name, c := range map[string]struct {
		patches []kustomize.Patch
		want    string // the replicas of web and api
	}{
		"a kind":             {[]kustomize.Patch{replicas(kustomize.Target{Kind: "Deployment"}, "2")}, "2 2"},
		"all objects":        {[]kustomize.Patch{replicas(kustomize.Target{}, "2")}, "2 2"},
		"a name":             {[]kustomize.Patch{replicas(kustomize.Target{Name: "api"}, "2")}, "1 2"},
		"a pattern of names": {[]kustomize.Patch{replicas(kustomize.Target{Name: "w.*"}, "2")}, "2 1"},
		"a label":            {[]kustomize.Patch{replicas(kustomize.Target{LabelSelector: "tier=front"}, "2")}, "2 1"},
		"another group":      {[]kustomize.Patch{replicas(kustomize.Target{Group: "batch"}, "2")}, "1 1"},
		"another namespace":  {[]kustomize.Patch{replicas(kustomize.Target{Namespace: "prod"}, "2")}, "1 1"},
		"the last of two patches takes precedence": {[]kustomize.Patch{
			replicas(kustomize.Target{}, "2"),
			replicas(kustomize.Target{Name: "web"}, "3"),
		}, "3 2"},
		"the last of two patches in the other order takes precedence": {[]kustomize.Patch{replicas(
			kustomize.Target{Name: "web"}, "3"), replicas(kustomize.Target{}, "2")}, "2 2"},
		"a merge patch with target": {[]kustomize.Patch{{
			Target: &kustomize.Target{Name: "api"},
			Patch:  "{spec: {replicas: 7}}",
		}}, "1 7"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := transform(t, kustomize.Changes{Patches: c.patches}, deployments)
			if err != nil {
				t.Fatal(err)
			}
			var replicas []string
			for _, object := range got {
				value, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
				replicas = append(replicas, string(rune('0'+value)))
			}
			if strings.Join(replicas, " ") != c.want {
				t.Errorf("want %s, got %s", c.want, replicas)
			}
		})
	}
}

func TestAPatchCanDeleteAnObject(t *testing.T) {
	got, err := transform(
		t,
		kustomize.Changes{
			Patches: []kustomize.Patch{
				{Patch: "{$patch: delete, apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}"},
			},
		},
		deployments,
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].GetName() != "api" {
		t.Errorf("got %v", got)
	}
}

func TestImagesAreReplaced(t *testing.T) {
	expectChanged(t, kustomize.Changes{Images: []kustomize.Image{
		{
			Name:    "nginx",
			NewName: "registry.example.com/nginx",
			NewTag:  "1.28",
		}, {Name: "example.com/api", Digest: "sha256:5678"},
	}}, deployments, `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {tier: front}}, spec: {replicas: 1, template: {spec: {containers: [{name: web, image: "registry.example.com/nginx:1.28", env: [{name: A, value: "1"}]}]}}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: api}, spec: {replicas: 1, template: {spec: {containers: [{name: api, image: "example.com/api@sha256:5678"}]}}}}
`)
}

func TestANamespaceMovesObjectsAndWhatRefersToIt(t *testing.T) {
	expectChanged(t, kustomize.Changes{Namespace: "prod"}, `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: dev}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: ServiceAccount, name: default, namespace: dev}]}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`, `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: prod}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: ServiceAccount, name: default, namespace: prod}]}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: prod}}
`)
}

func TestWhatIsNotPatchedStaysAsItIsAndWhereItIs(t *testing.T) {
	const others = `
{apiVersion: v1, kind: Service, metadata: {name: z, annotations: {fairlead.io/order: "-1", config: "yes"}}, spec: {ports: [{port: 80}], clusterIP: null, selector: {}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {number: "1e3", boolean: "off", text: "a\nb\n", quotes: "\"x\" 'y'", date: "2024-01-01", empty: ""}}
---
{apiVersion: example.com/v1, kind: Scale, metadata: {name: b}, spec: {large: 9007199254740993, ratio: 0.5, negative: -1, on: true, list: [], map: {}, nothing: null}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: c}}
`
	expectChanged(t, kustomize.Changes{Images: []kustomize.Image{{Name: "none", NewTag: "1"}}}, others, others)
}

func TestNothingRenderedNeedsNoChange(t *testing.T) {
	expectChanged(
		t,
		kustomize.Changes{Patches: []kustomize.Patch{{Patch: "{spec: {}}", Target: &kustomize.Target{Kind: "Pod"}}}},
		"",
		"",
	)
}

func TestMistakesInChangesNameTheEntry(t *testing.T) {
	target := &kustomize.Target{Kind: "Deployment"}
	one := func(patch string, target *kustomize.Target) kustomize.Changes {
		return kustomize.Changes{Patches: []kustomize.Patch{{Patch: patch, Target: target}}}
	}
	for want, changes := range map[string]kustomize.Changes{
		`patches[0]: the patch is not valid YAML: error converting YAML to JSON: yaml: line 1: did not find expected node content`: one("a: [", nil),
		`patches[0]: line 1: the aliases up to here expand to more than 8388608 bytes: use fewer`:                                  one("[&a "+strings.Repeat("x", 1<<20)+strings.Repeat(", *a", 9)+"]", nil),
		`patches[0]: want a strategic merge patch, which is a map, or a list of JSON patch operations`:                             one("", target),
		`patches[0]: the patch has no kind: add it, or a target, to select the object to change`:                                   one("metadata: {name: a}", nil),
		`patches[0]: the patch has no metadata.name: add it, or a target, to select the object to change`:                          one("kind: Pod", nil),
		`patches[0]: no target: JSON patch operations need a target that selects the objects to change`:                            one("[{op: remove, path: /a}]", nil),
		`patches[0]: no operations`:                            one("[]", target),
		`patches[0]: operation 1: want a map with op and path`: one("[a]", target),
		`patches[0]: operation 2: op "": want one of add, copy, move, remove, replace, test`: one(
			"[{op: remove, path: /a}, {path: /a}]", target),
		`patches[0]: operation 1: want a path such as /spec/replicas`: one("[{op: remove, path: a}]",
			target),
		`patches[0]: operation 1: add needs value`: one("[{op: add, path: /a}]",
			target),
		"patches[0]: target: error parsing regexp: missing closing ): `^(?:()$`": one("a: b",
			&kustomize.Target{Name: "("}),
		`patches[0]: target: found ',', expected: !, identifier, or 'end of string'`: one("a: b",
			&kustomize.Target{LabelSelector: ","}),
		"images[1]: no name: want the name of the image to replace, " +
			"without its tag": {Images: []kustomize.Image{{Name: "a"}, {NewTag: "1"}}},
	} {
		_, err := kustomize.NewTransformer(changes)
		if err == nil || err.Error() != want {
			t.Errorf("want the error\n%s\ngot\n%v", want, err)
		}
	}
}

func TestAPatchThatFailsIsNamed(t *testing.T) {
	fits := kustomize.Patch{Patch: "{spec: {replicas: 2}}", Target: &kustomize.Target{Kind: "Deployment"}}
	for want, patch := range map[string]kustomize.Patch{
		"no matches for Id Deployment.v1.apps/none.[noNs]": {Patch: "{apiVersion: apps/v1, kind: Deployment, metadata: " +
			"{name: none}}"},
		"/spec/absent": {Patch: "[{op: remove, path: /spec/absent}]", Target: &kustomize.Target{Name: "web"}},
	} {
		_, err := transform(t, kustomize.Changes{Patches: []kustomize.Patch{fits, patch, fits}}, deployments)
		if err == nil || !strings.HasPrefix(err.Error(), "patches[1]: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("want patches[1] and %s, got %v", want, err)
		}
	}
}

func TestChangesStopWithTheirContext(t *testing.T) {
	transformer, err := kustomize.NewTransformer(kustomize.Changes{Namespace: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := transformer.Transform(ctx, generator.Request{}, decode(t, deployments)); !errors.Is(
		err,
		context.Canceled,
	) {
		t.Errorf("got %v", err)
	}
}

func TestChangesAreMadeByManyAtOnce(t *testing.T) {
	transformer, err := kustomize.NewTransformer(kustomize.Changes{Namespace: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			objects, err := transformer.Transform(t.Context(), generator.Request{}, decode(t, deployments))
			if err != nil || len(objects) != 2 || objects[0].GetNamespace() != "prod" {
				t.Errorf("got %v, %v", objects, err)
			}
		})
	}
	all.Wait()
}

func TestTheVersionOfChangesIsWhatTheyAre(t *testing.T) {
	versions := map[string]bool{}
	for _, changes := range []kustomize.Changes{
		{},
		{Namespace: "a"},
		{Namespace: "b"},
		{Images: []kustomize.Image{{Name: "a"}}},
		{Patches: []kustomize.Patch{{Patch: "a: b", Target: &kustomize.Target{Kind: "Pod"}}}},
		{Patches: []kustomize.Patch{{Patch: "a: b", Target: &kustomize.Target{}}}},
	} {
		transformer, err := kustomize.NewTransformer(changes)
		if err != nil {
			t.Fatal(err)
		}
		versioner, ok := transformer.(generator.Versioner)
		if !ok || versions[versioner.Version()] {
			t.Fatalf("%v have no version, or the version of other changes", changes)
		}
		versions[versioner.Version()] = true
	}
}
