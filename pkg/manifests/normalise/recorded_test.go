package normalise_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// recorded returns the manifests of a set as a record contains them: without marks, written as JSON and read again.
func recorded(t *testing.T, objects []manifests.Object) []*unstructured.Unstructured {
	t.Helper()
	bodies := make([]*unstructured.Unstructured, 0, len(objects))
	for _, o := range objects {
		body, err := marks.ForRecord(o, reconciler)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	text, err := json.Marshal(bodies)
	if err != nil {
		t.Fatal(err)
	}
	var read []*unstructured.Unstructured
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// differenceOfRecorded returns the difference between a set and the set that its record gives.
func differenceOfRecorded(t *testing.T, objects []manifests.Object, o normalise.Options) string {
	t.Helper()
	again, err := normalise.Manifests(recorded(t, objects), o)
	if err != nil {
		return "the record is refused: " + err.Error()
	}
	return difference(objects, again)
}

// difference returns the difference between two sets. Of the settings it compares the dependencies alone: all others
// are parsed from the annotations of the manifest, which it compares, too.
func difference(a, b []manifests.Object) string {
	plain := func(objects []manifests.Object) []manifests.Object {
		objects = slices.Clone(objects)
		for i := range objects {
			objects[i].Settings = manifests.Settings{Graph: objects[i].Settings.Graph}
		}
		return objects
	}
	return cmp.Diff(plain(a), plain(b))
}

// shapes are sets with everything that normalise.Manifests changes in a manifest.
var shapes = []struct{ name, set string }{
	{"nothing to change", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b, labels: {c: d}}, " +
		"data: {e: f}}"},
	{"no namespace", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"},
	{"a namespace of a cluster-scoped object", "{apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: b}}"},
	{"fields of the API server", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: b, generation: 1, " +
		"creationTimestamp: null, managedFields: [], selfLink: c}, status: {}}"},
	{"null in metadata", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: null, labels: null, " +
		"annotations: {b: null}, finalizers: null}, data: null}"},
	{"no labels in an empty map", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {}}}\n---\n" +
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {}, annotations: " +
		"{shop.example.com/reconcile-policy: observe}}}\n---\n" +
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {}, annotations: {shop.example.com/order: '1,2'}}}"},
	{"no annotations in an empty map", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {}}}"},
	{"text of a Secret", "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {b: \"c<&>\\u2028\", " +
		"d: null}, data: {e: Zg==, b: Zg==, g: null}}"},
	{"an empty Secret", "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {}, data: {}}"},
	{"no data of a Secret", "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: null, data: null}"},
	{"numbers", "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, spec: {a: 1.0, b: 1e21, c: 0.1, " +
		"d: 9223372036854775807, e: 18446744073709551615, f: -0.0, g: 1e-7, h: 007, i: 3.0e2}}"},
	{"texts", "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, spec: {a: \"<b>&\\u2029\\0\", " +
		"b: \"\\ufffd\", c: '', d: null, e: [], f: {}, g: [null, {}]}}"},
	{"an aggregated role", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}, " +
		"aggregationRule: {}, rules: [{verbs: [get]}]}"},
	{"empty protocols", "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80, protocol: ''}]}}"},
	{"timestamps of templates", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: " +
		"{metadata: {creationTimestamp: null, labels: {}}, spec: {containers: []}}}}"},
	{"a definition and its instances", "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: " +
		"{name: widgets.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: Widget}, versions: " +
		"[{name: v1}, {name: v2, subresources: {status: {}}}]}}\n---\n" +
		"{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, status: {b: c}}\n---\n" +
		"{apiVersion: example.com/v2, kind: Widget, metadata: {name: d}, status: {b: c}}"},
	{"a status that is no subresource", "{apiVersion: example.com/v1, kind: Plain, metadata: {name: a}, status: {b: c}}"},
	{"types that are not served", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, status: {b: c}}\n" +
		"---\n{apiVersion: example.com/v1, kind: Gizmo, metadata: {name: a, namespace: b}, spec: {c: 1}}"},
	{"several orders", settled("a", "x", "~order: ' 3 ,-1', ~purge-order: '4, 1'") +
		settled("b", "x", "~apply-order: '1,2', ~update-policy: recreate") +
		settled("c", "x", "~order: '-2', ~purge-order: '-2'") + settled("c", "y", "")},
	{"several phases", settled("a", "x", "~order: '5,-5', ~purge-order: '9,-2', ~phase: 'apply, pre-delete,post-delete', "+
		"~phase-order: '7', ~reapply-interval: 5m, ~reconcile-policy: on-object-change")},
	{"one phase", settled("a", "x", "~phase: pre-delete, ~phase-order: '7', ~apply-order: '2'") +
		settled("b", "x", "~phase: ' apply '")},
	{"ignored fields", settled("web", "x", "~ignore: 'data.a, data[\"b\"]'") + settled("other", "x", "")},
	{"values between objects", settled("first", "x", "~export: 'host=self.data.value'") +
		settled("second", "http://${{ host }}", "~bind: 'true'") +
		settled("third", "${{ host }}", "~bind: 'true', ~depends-on: 'ConfigMap other/x ,ConfigMap second'") +
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: other}}\n---\n" +
		"{apiVersion: v1, kind: Secret, metadata: {name: a, annotations: {shop.example.com/bind: 'true'}}, " +
		"stringData: {b: '${{ host }}'}}"},
	{"dependencies", settled("a", "x", "~depends-on-group: g") + settled("b", "x", "~depends-on: '@g,  ConfigMap c?'") +
		settled("d", "x", "~depends-on: 'Namespace shop, ConfigMap b', ~include-when: 'parameters.a'") +
		"{apiVersion: v1, kind: Namespace, metadata: {name: shop, annotations: {shop.example.com/delete-policy: orphan}}}"},
	{"observed objects", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {b: c}, annotations: " +
		"{shop.example.com/reconcile-policy: observe, shop.example.com/export: 'host=self.data.a', d: e}}}\n---\n" +
		settled("b", "${{ host }}", "~bind: 'true'")},
	{"externals", "{apiVersion: external.fairlead.io/v1, kind: Schema, metadata: {name: a, annotations: " +
		"{shop.example.com/export: 'id=self.id'}}, spec: {b: 1.5}}\n---\n" + settled("b", "${{ id }}", "~bind: 'true'")},
	{"readiness and orders", settled("a", "x", "~ready-when: 'self.data.value != \"\"', "+
		"~gone-when: 'self.data.value == \"\"', ~timeout: 1m, ~delete-order: '3', ~purge-order: '5', "+
		"~update-policy: replace, ~prune-policy: at-once, ~active-when: 'true'")},
	{"text that needs no change", settled("a", "${{ no hole }} $${{", "")},
}

// ignoring returns the options of a component with rules of ignored fields.
func ignoring(t *testing.T) normalise.Options {
	t.Helper()
	rules := func(source manifests.IgnoreSource, rules ...metav1alpha1.IgnoreRule) []normalise.IgnoreRule {
		parsed, err := normalise.NewIgnoreRules(reconciler, source, rules)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	o := options
	o.Ignore = slices.Concat(
		rules(manifests.IgnoredByOption, metav1alpha1.IgnoreRule{Paths: []string{"spec.replicas", "data.c"}}),
		rules(manifests.IgnoredBySpec,
			metav1alpha1.IgnoreRule{
				Target: &metav1alpha1.ObjectTarget{Kind: "ConfigMap", Name: "web", Namespace: "shop"},
				Paths:  []string{".data.d"},
			},
			metav1alpha1.IgnoreRule{
				Target: &metav1alpha1.ObjectTarget{AnnotationSelector: "!shop.example.com/owner-id", LabelSelector: "!c"},
				Paths:  []string{"data[\"e\"]"},
			},
		),
	)
	return o
}

// The manifests of a record, which contain no marks, are normalised to the same objects with the same digests as those
// from which the record was made. So a record of normalised manifests can be compared with the inventory.
func TestARecordedSetHasTheSameDigests(t *testing.T) {
	plain := options
	plain.StatusIsSubresource = func(gvk schema.GroupVersionKind) (bool, error) { return gvk.Kind != "Plain", nil }
	for name, o := range map[string]normalise.Options{"": plain, " with ignored fields": ignoring(t)} {
		for _, shape := range shapes {
			t.Run(shape.name+name, func(t *testing.T) {
				objects, err := normalise.Manifests(decode(t, shape.set), o)
				if err != nil {
					t.Fatal(err)
				}
				if found := differenceOfRecorded(t, objects, o); found != "" {
					t.Errorf("-rendered +recorded:\n%s", found)
				}
			})
		}
	}
}

// A type may be served only after the record was made. The record then gives the objects that the rendering would give
// now. The exception is a status that is no subresource: it is removed while the type is not served, so the record of
// such a set needs the rendered manifests.
func TestARecordedSetWhoseTypesAreServedLater(t *testing.T) {
	for _, c := range []struct{ name, set, differs string }{
		{"without a namespace", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: {b: c}}", ""},
		{"in a namespace", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: b}}", ""},
		{"with several orders", strings.ReplaceAll(settled("a", "x", "~order: '1,2'"), "kind: ConfigMap", "kind: Gizmo"), ""},
		{"with a status", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, status: {b: c}}", ""},
		{
			"with a status that is no subresource",
			"{apiVersion: example.com/v1, kind: Gizmo, metadata: {name: a}, status: {b: c}}", `"status"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			served := options
			served.ScopeOf = func(schema.GroupVersionKind) (manifests.Scope, error) { return manifests.ScopeNamespaced, nil }
			served.StatusIsSubresource = func(gvk schema.GroupVersionKind) (bool, error) { return gvk.Kind != "Gizmo", nil }
			before, err := normalise.Manifests(decode(t, c.set), options)
			if err != nil {
				t.Fatal(err)
			}
			want, err := normalise.Manifests(decode(t, c.set), served)
			if err != nil {
				t.Fatal(err)
			}
			got, err := normalise.Manifests(recorded(t, before), served)
			if err != nil {
				t.Fatal(err)
			}
			found := difference(want, got)
			if (found == "") != (c.differs == "") || !strings.Contains(found, c.differs) {
				t.Errorf("-rendered +recorded:\n%s", found)
			}
		})
	}
}

// TestARecordedChartHasTheSameDigests does the same for the charts of the repository, with their default values.
func TestARecordedChartHasTheSameDigests(t *testing.T) {
	const root, leastRendered = "../../..", 15
	rendered, occurrences := 0, 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "Chart.yaml" {
			return err
		}
		folder := filepath.Dir(path)
		objects, err := renderedBy(t, folder)
		if err != nil {
			t.Logf("%s cannot be rendered: %v", folder, err)
			return nil
		}
		for _, o := range []normalise.Options{options, ignoring(t)} {
			set, err := normalise.Manifests(objects, o)
			if err != nil {
				t.Logf("%s is refused: %v", folder, err)
				return nil
			}
			rendered++
			occurrences += len(set)
			if found := differenceOfRecorded(t, set, o); found != "" {
				t.Errorf("%s: -rendered +recorded:\n%s", folder, found)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if rendered < 2*leastRendered {
		t.Errorf("%d sets were rendered, want at least %d", rendered, 2*leastRendered)
	}
	t.Logf("%d sets with %d objects", rendered, occurrences)
}

// renderedBy returns the manifests of a chart.
func renderedBy(t *testing.T, folder string) ([]*unstructured.Unstructured, error) {
	t.Helper()
	g, err := helm.New(os.DirFS(folder), helm.Options{AnnotationPrefix: reconciler})
	if err != nil {
		return nil, err
	}
	generated, err := g.Generate(t.Context(), generator.Request{Namespace: "shop", Name: "shop"})
	if err != nil {
		return nil, err
	}
	bodies := make([]*unstructured.Unstructured, 0, len(generated))
	for _, obj := range generated {
		body, err := manifests.ToUnstructured(obj, nil)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

// TestARandomRecordedSetHasTheSameDigests does the same for random combinations of settings.
func TestARandomRecordedSetHasTheSameDigests(t *testing.T) {
	const tried, leastAccepted = 2000, 400
	withRules, accepted := ignoring(t), 0
	for seed := range uint64(tried) {
		random := rand.New(rand.NewPCG(seed, 0))
		o := options
		if random.IntN(2) == 0 {
			o = withRules
		}
		var set strings.Builder
		for i := range 1 + random.IntN(5) {
			set.WriteString(randomManifest(random, i))
		}
		objects, err := normalise.Manifests(decode(t, set.String()), o)
		if err != nil {
			continue
		}
		accepted++
		if found := differenceOfRecorded(t, objects, o); found != "" {
			t.Fatalf("seed %d: %s\n-rendered +recorded:\n%s", seed, set.String(), found)
		}
	}
	if accepted < leastAccepted {
		t.Errorf("%d of %d sets were accepted, want at least %d", accepted, tried, leastAccepted)
	}
}

// randomManifest returns a manifest with random settings, of which some contradict each other.
func randomManifest(random *rand.Rand, number int) string {
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	maybe := func(percent int, text string) string {
		if random.IntN(100) < percent {
			return text + ", "
		}
		return ""
	}
	setting := func(percent int, name string, values ...string) string {
		return maybe(percent, fmt.Sprintf("%s/%s: %q", reconciler, name, pick(values...)))
	}
	other := fmt.Sprint("o", random.IntN(number+1))
	annotations := setting(30, "order", "1", "-1, 2", "3,1,2", " 4") +
		setting(20, "purge-order", "1", "-1, 2", "5", "0,3") +
		setting(15, "phase", "apply", "pre-delete", "apply,post-delete", "pre-delete, post-delete") +
		setting(10, "phase-order", "3") + setting(20, "update-policy", "recreate", "replace") +
		setting(20, "reconcile-policy", "once", "on-object-change") + setting(15, "ignore", "data.a", "spec.b, data.c") +
		setting(15, "depends-on-group", "g") + setting(20, "depends-on", "@g?", "ConfigMap "+other+"?", "ConfigMap "+other) +
		setting(15, "export", fmt.Sprintf("e%d=self.data.a", number)) + setting(20, "bind", "true") +
		setting(10, "include-when", "parameters.a") + setting(10, "delete-order", "4") + maybe(20, "example.com/a: b")
	metadata := fmt.Sprintf("name: o%d, ", number) + maybe(30, "namespace: "+pick("shop", "other")) +
		maybe(50, "labels: "+pick("null", "{}", "{a: b}")) + maybe(80, "annotations: {"+annotations+"}")
	hole := pick("x", "${{ e0 }}", "${{ e1 }} and ${{ e0 }}")
	return fmt.Sprintf("{%s, metadata: {%s}, %s}\n---\n",
		pick(
			"apiVersion: v1, kind: ConfigMap", "apiVersion: v1, kind: Secret", "apiVersion: example.com/v1, kind: Widget",
			"apiVersion: batch/v1, kind: Job", "apiVersion: v1, kind: Namespace", "apiVersion: v1, kind: ConfigMap",
		), metadata,
		pick(fmt.Sprintf("data: {a: %q}", hole), fmt.Sprintf("stringData: {a: %q}", hole), "spec: {b: 1.0}, status: {c: d}"))
}

func FuzzARecordedSetHasTheSameDigests(f *testing.F) {
	for _, shape := range shapes {
		f.Add([]byte(shape.set))
	}
	fuzzing.Run(f, func(t *testing.T, stream []byte) {
		decoded, err := manifests.Decode("f.yaml", stream)
		if err != nil {
			return
		}
		objects, err := normalise.Manifests(decoded, options)
		if err != nil {
			return
		}
		if found := differenceOfRecorded(t, objects, options); found != "" {
			t.Errorf("-rendered +recorded:\n%s", found)
		}
	})
}
