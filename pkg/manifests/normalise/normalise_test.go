package normalise_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

const reconciler = "shop.example.com"

var testOwner = manifests.Owner{
	Cluster:    "c",
	Reconciler: reconciler,
	Group:      "example.com",
	Kind:       "Shop",
	Namespace:  "apps",
	Name:       "shop",
}

var options = normalise.Options{
	Reconciler: reconciler, Namespace: "shop", Owner: testOwner,
	ScopeOf: func(gvk schema.GroupVersionKind) (manifests.Scope, error) {
		switch gvk.Kind {
		case "Namespace", "ClusterRole", "CustomResourceDefinition", "APIService", "ValidatingWebhookConfiguration":
			return manifests.ScopeCluster, nil
		case "Widget", "Gizmo":
			return manifests.ScopeUnknown, nil
		case "Broken":
			return manifests.ScopeUnknown, errors.New("the API server does not answer")
		}
		return manifests.ScopeNamespaced, nil
	},
}

func decode(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := manifests.Decode("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// bare returns the body without the labels and annotations that the reconciler adds.
func bare(t *testing.T, o manifests.Object) map[string]any {
	t.Helper()
	body := o.Body.DeepCopy()
	labels, annotations := body.GetLabels(), body.GetAnnotations()
	if labels[reconciler+"/owner-id"] != testOwner.ID() || annotations[reconciler+"/owner-id"] != testOwner.String() ||
		annotations[reconciler+"/digest"] != o.Digest {
		t.Errorf("labels %v, annotations %v", labels, annotations)
	}
	delete(labels, reconciler+"/owner-id")
	delete(annotations, reconciler+"/owner-id")
	delete(annotations, reconciler+"/digest")
	delete(annotations, reconciler+"/object")
	body.SetLabels(labels)
	body.SetAnnotations(annotations)
	for _, field := range []string{"labels", "annotations"} {
		if m, _, _ := unstructured.NestedMap(body.Object, "metadata", field); len(m) == 0 {
			unstructured.RemoveNestedField(body.Object, "metadata", field)
		}
	}
	return body.Object
}

func TestNormalise(t *testing.T) {
	for _, c := range []struct {
		name, manifest, want string
	}{
		{
			"sets the component's namespace on a namespaced object that has none",
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}`,
		},
		{
			"keeps the namespace of a manifest",
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: other}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: other}}`,
		},
		{
			"removes the namespace of a cluster-scoped object",
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, namespace: other}}`,
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}}`,
		},
		{
			"keeps the namespace of an object of unknown scope",
			`{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}`,
			`{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}`,
		},
		{
			"merges stringData into data, as the API server does",
			`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}, data: {x: eA==, "y": eQ==}, stringData: {"y": new, z: ""}}`,
			`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}, data: {x: eA==, "y": bmV3, z: ""}}`,
		},
		{
			"treats a null stringData as empty",
			`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}, data: null, stringData: null}`,
			`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}, data: null}`,
		},
		{
			"keeps the field stringData of other kinds",
			`{apiVersion: example.com/v1, kind: Secret, metadata: {name: a, namespace: b}, stringData: {"y": new}}`,
			`{apiVersion: example.com/v1, kind: Secret, metadata: {name: a, namespace: b}, stringData: {"y": new}}`,
		},
		{
			"removes fields that only the API server sets",
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b, uid: u, resourceVersion: "1", generation: 1, selfLink: x,
				managedFields: [], creationTimestamp: "2020-01-01T00:00:00Z", deletionTimestamp: "2020-01-01T00:00:00Z", deletionGracePeriodSeconds: 0}, status: {x: y}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}}`,
		},
		{
			"removes only null timestamps from pod templates",
			`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, namespace: b, creationTimestamp: null}, spec: {
				template: {metadata: {creationTimestamp: null, labels: {a: b}}},
				volumeClaimTemplates: [{metadata: {name: x, creationTimestamp: null}, status: {}}]}}`,
			`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, namespace: b}, spec: {
				template: {metadata: {labels: {a: b}}}, volumeClaimTemplates: [{metadata: {name: x}, status: {}}]}}`,
		},
		{
			"removes empty protocols of ports",
			`{apiVersion: v1, kind: Service, metadata: {name: a, namespace: b}, spec: {ports: [{port: 80, protocol: ""}, {port: 81, protocol: UDP}]}}`,
			`{apiVersion: v1, kind: Service, metadata: {name: a, namespace: b}, spec: {ports: [{port: 80}, {port: 81, protocol: UDP}]}}`,
		},
		{
			"keeps empty protocols of other types",
			`{apiVersion: example.com/v1, kind: X, metadata: {name: a, namespace: b}, spec: {ports: [{protocol: ""}]}}`,
			`{apiVersion: example.com/v1, kind: X, metadata: {name: a, namespace: b}, spec: {ports: [{protocol: ""}]}}`,
		},
		{
			"keeps timestamps that are not null or not in metadata",
			`{apiVersion: example.com/v1, kind: X, metadata: {name: a, namespace: b}, spec: {creationTimestamp: null, metadata: {creationTimestamp: x}}}`,
			`{apiVersion: example.com/v1, kind: X, metadata: {name: a, namespace: b}, spec: {creationTimestamp: null, metadata: {creationTimestamp: x}}}`,
		},
		{
			"keeps unknown fields",
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b, novel: 1}, novel: {x: 2.5}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b, novel: 1}, novel: {x: 2.5}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			generated := decode(t, c.manifest)
			before := generated[0].DeepCopy()
			got, err := normalise.Manifests(generated, options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, c.want)[0].Object, bare(t, got[0])); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before.Object, generated[0].Object); diff != "" {
				t.Errorf("the generated manifest was changed:\n%s", diff)
			}
		})
	}
}

func TestNormaliseErrors(t *testing.T) {
	for _, c := range []struct {
		name, manifests, want string
	}{
		{
			"the mistakes of several objects are " +
				"reported", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {shop.example.com/order: x}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {shop.example.com/colour: red}}}`,
			`ConfigMap a: annotation shop.example.com/order: "x" is not a whole number from -32768 to 32767
ConfigMap b: annotation shop.example.com/colour: is not a setting; settings are reconcile-policy, update-policy, adoption-policy, delete-policy, purge-order, delete-order, reapply-interval, include-when, active-when, purge-failed, timeout, order, apply-order, phase, phase-order, depends-on, depends-on-group, depends-on-timeout, prune-policy, ignore, status-hint, ready-when, export, bind, external-id, gone-when`,
		},
		{
			"two manifests of the same object are refused", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`,
			`ConfigMap shop/a: rendered more than once; names are unique in a component`,
		},
		{
			"two versions of the same object are refused", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}
---
{apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: a}}`,
			`Deployment.apps shop/a: rendered more than once; names are unique in a component`,
		},
		{
			"an instance must not be applied before its " +
				"definition",
			`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, annotations: {shop.example.com/order: "-1"}}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com, names: {kind: Widget}, scope: Namespaced}}`,
			`Widget.example.com shop/w: its order -1 is before order 0 of CustomResourceDefinition.apiextensions.k8s.io widgets.example.com, which defines its type; give it order 0 or a later one`,
		},
		{
			"an instance must not be applied before its APIService",
			`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}
---
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.example.com, annotations: {shop.example.com/order: "1"}}, spec: {group: example.com, service: {name: s}}}`,
			`Widget.example.com w: its order 0 is before order 1 of APIService.apiregistration.k8s.io v1.example.com, which defines its type; give it order 1 or a later one`,
		},
		{
			"an error of the discovery of a scope is reported",
			`{apiVersion: example.com/v1, kind: Broken, metadata: {name: a}}`,
			`Broken.example.com a: the API server does not answer`,
		},
		{
			"errors about stringData do not quote its values",
			`{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {b: 12345, a: {x: hush}}}`,
			"Secret shop/a: stringData[a] is a map: quote it\nstringData[b] is a number: quote it",
		},
		{
			"errors about data that is not encoded do not quote its " +
				"values", `{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {b: 12345, a: "%hush%", c: null}}`,
			"Secret shop/a: data[a] is not base64; write plain text under stringData\n" +
				"data[b] is a number: write it as base64, or as text under stringData",
		},
		{
			"errors about data that is not a map do not quote it",
			`{apiVersion: v1, kind: Secret, metadata: {name: a}, data: hush}`,
			"Secret shop/a: data is a string: write a map",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := normalise.Manifests(decode(t, c.manifests), options)
			if err == nil {
				t.Fatal("Normalise returned no error")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("a namespaced object needs a namespace", func(t *testing.T) {
		o := options
		o.Namespace = ""
		_, err := normalise.Manifests(decode(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`), o)
		if want := "ConfigMap a: metadata.namespace is missing, and the component has no default namespace"; err == nil ||
			err.Error() != want {
			t.Errorf("got %v", err)
		}
	})
}

// TestNormaliseOfGoValues checks objects that an author builds in Go instead of decoding them from YAML.
func TestNormaliseOfGoValues(t *testing.T) {
	build := func(metadata, spec map[string]any) []*unstructured.Unstructured {
		return []*unstructured.Unstructured{
			{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}},
		}
	}
	t.Run("values of Go types are converted", func(t *testing.T) {
		got, err := normalise.Manifests(
			build(
				map[string]any{"name": "a", "labels": map[string]string{"x": "y"}},
				map[string]any{"replicas": 3, "args": []string{"<b>"}},
			),
			options,
		)
		if err != nil {
			t.Fatal(err)
		}
		want := decode(t,
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: shop, labels: {x: "y"}}, spec: {replicas: 3, args: [<b>]}}`)[0].Object
		if diff := cmp.Diff(want, bare(t, got[0])); diff != "" {
			t.Error(diff)
		}
	})
	for _, c := range []struct {
		name      string
		generated []*unstructured.Unstructured
		want      string
	}{
		{"no object at all", []*unstructured.Unstructured{nil}, "manifest 1 is nil"},
		{
			"an object without content",
			[]*unstructured.Unstructured{{}},
			`manifest 1 (kind "", name ""): no apiVersion: write one, such as apps/v1
no kind: write one, such as ConfigMap
no metadata.name: give the object a name`,
		},
		{
			"a generated name", build(map[string]any{"generateName": "a-"}, nil),
			`manifest 1 (kind "Deployment", name ""): metadata.generateName is not supported, because the object must be found again: write metadata.name`,
		},
		{
			"an annotation that is not a string, which would hide all " +
				"others", build(map[string]any{"name": "a", "annotations": map[string]any{"x": true}}, nil),
			"Deployment.apps a: metadata.annotations[x] is a boolean: quote it",
		},
		{
			"a value that JSON cannot " +
				"represent", build(map[string]any{"name": "a"}, map[string]any{"x": math.NaN()}),
			"Deployment.apps a: the manifest cannot be written as JSON: json: unsupported value: NaN",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := normalise.Manifests(c.generated, options)
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestNormaliseResult(t *testing.T) {
	got, err := normalise.Manifests(decode(t, `
{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: b, annotations: {shop.example.com/order: "1"}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, annotations: {shop.example.com/order: "1"}}}
---
{apiVersion: example.com/v1, kind: Gizmo, metadata: {name: g}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com, names: {kind: Widget}, scope: Cluster}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {shop.example.com/apply-order: "-1", shop.example.com/delete-order: "7", other.example.com/x: z}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {ttlSecondsAfterFinished: 0}}
`), options)
	if err != nil {
		t.Fatal(err)
	}
	type summary struct {
		Key, Version string
		Scope        manifests.Scope
		Stage        manifests.Stage
		Order        int
		Types        int
		Ephemeral    bool
	}
	var found []summary
	for _, o := range got {
		found = append(
			found,
			summary{o.Key.String(), o.Version, o.Scope, o.Stage, o.Settings.Order, len(o.Types), o.Ephemeral},
		)
	}
	want := []summary{
		{"ConfigMap shop/c", "v1", manifests.ScopeNamespaced, manifests.StageConfiguration, -1, 0, false},
		{
			"CustomResourceDefinition.apiextensions.k8s.io widgets.example.com",
			"v1",
			manifests.ScopeCluster,
			manifests.StageDefinitions,
			0,
			1,
			false,
		},
		{"Job.batch shop/j", "v1", manifests.ScopeNamespaced, manifests.StageWorkloads, 0, 0, true},
		{"Gizmo.example.com g", "v1", manifests.ScopeUnknown, manifests.StageWorkloads, 0, 0, false},
		{"Widget.example.com w", "v1", manifests.ScopeCluster, manifests.StageInstances, 0, 0, false},
		{"Deployment.apps shop/a", "v1", manifests.ScopeNamespaced, manifests.StageWorkloads, 1, 0, false},
		{"Deployment.apps shop/b", "v1", manifests.ScopeNamespaced, manifests.StageWorkloads, 1, 0, false},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
	if order := got[0].Settings.DeleteOrder; order == nil || *order != 7 {
		t.Errorf("the delete order is %v", order)
	}
}

func TestDigestOfManifests(t *testing.T) {
	digest := func(text string) string {
		t.Helper()
		got, err := normalise.Manifests(decode(t, text), options)
		if err != nil {
			t.Fatal(err)
		}
		return got[0].Digest
	}
	const base = `{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {x: eA==, "y": eQ==}}`
	for _, c := range []struct {
		name, manifest string
		same           bool
	}{
		{"the digest does not depend on the order of " +
			"keys", `{kind: Secret, data: {"y": eQ==, x: eA==}, apiVersion: v1, metadata: {name: a}}`, true},
		{"the digest does not depend on whether the default namespace is " +
			"set", `{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}, data: {x: eA==, "y": eQ==}}`, true},
		{
			"the digest does not depend on fields that only the API server " +
				"sets",
			`{apiVersion: v1, kind: Secret, metadata: {name: a, creationTimestamp: null}, data: {x: eA==, "y": eQ==}, status: {}}`, true,
		},
		{
			"the digest is equal for stringData and data",
			`{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {x: x, "y": "y"}}`, true,
		},
		{"the digest depends on the content", `{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {x: eA==}}`, false},
		{
			"the digest depends on the settings",
			`{apiVersion: v1, kind: Secret, metadata: {name: a, annotations: {shop.example.com/order: "0"}}, data: {x: eA==, "y": eQ==}}`, false,
		},
		{
			"the digest depends on the API version",
			`{apiVersion: v2, kind: Secret, metadata: {name: a}, data: {x: eA==, "y": eQ==}}`, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := digest(c.manifest) == digest(base); got != c.same {
				t.Errorf("equal digests: %v", got)
			}
		})
	}
	if length := len(digest(base)); length != 16 {
		t.Errorf("a digest has %d characters", length)
	}
}

func TestToUnstructured(t *testing.T) {
	asked := 0
	answers := func(gvk schema.GroupVersionKind, err error) func(runtime.Object) (schema.GroupVersionKind, error) {
		return func(runtime.Object) (schema.GroupVersionKind, error) {
			asked++
			return gvk, err
		}
	}
	configMap := answers(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, nil)
	t.Run("a typed object gets apiVersion and kind", func(t *testing.T) {
		got, err := manifests.ToUnstructured(&corev1.ConfigMap{Data: map[string]string{"a": "b"}}, configMap)
		if err != nil || got.GetKind() != "ConfigMap" || got.GetAPIVersion() != "v1" {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("an unstructured object is returned unchanged", func(t *testing.T) {
		asked = 0
		u := &unstructured.Unstructured{Object: map[string]any{"novel": true}}
		if got, err := manifests.ToUnstructured(u, configMap); err != nil || got != u || asked > 0 {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("an unknown type is an error", func(t *testing.T) {
		if _, err := manifests.ToUnstructured(&corev1.ConfigMap{},
			answers(schema.GroupVersionKind{}, errors.New("no kind is registered"))); err == nil {
			t.Error("ToUnstructured returned no error")
		}
	})
}
