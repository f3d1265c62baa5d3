package changes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changes"
	"github.com/fairlead-io/fairlead/internal/fuzzing"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestFieldsReturnsThePathsOfDifferentFields(t *testing.T) {
	for name, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"nothing": {`{a: 1}`, `{a: 1}`, nil},
		"a value": {`{a: {b: 1}}`, `{a: {b: 2}}`, []string{"a.b"}},
		"a field that is added, and a field that is removed": {`{a: 1}`, `{b: 1}`, []string{"a", "b"}},
		"an item with a name": {
			`{c: [{name: web, image: a}]}`, `{c: [{name: web, image: b}]}`,
			[]string{"c[web].image"},
		},
		"an item without name":     {`{c: [1, 2]}`, `{c: [1, 3]}`, []string{"c[1]"}},
		"a list of other length":   {`{c: [1]}`, `{c: [1, 3]}`, []string{"c"}},
		"a name with dots":         {`{a: {x.io/y: 1}}`, `{a: {x.io/y: 2}}`, []string{"a[x.io/y]"}},
		"a map and a scalar":       {`{a: {b: 1}}`, `{a: 2}`, []string{"a"}},
		"null and a missing field": {`{a: null}`, `{}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, changes.Fields(object(t, test.before), object(t, test.after))); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := changes.Fields(nil, object(t, `{a: 1}`)); got != nil {
		t.Errorf("want no fields for a created object, got %v", got)
	}
}

func TestUnifiedMasksSecrets(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: " +
		"{kubectl.kubernetes.io/last-applied-configuration: 'c2FtZQ=='}}\n"
	before := object(t, secret+"data: {same: c2FtZQ==, other: b2xk, lost: Z29uZQ==}")
	after := object(t, secret+"data: {same: c2FtZQ==, other: bmV3, more: bW9yZQ==}")
	text, err := changes.Unified("Secret s", before, after)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"c2FtZQ==", "b2xk", "bmV3", "Z29uZQ==", "bW9yZQ=="} {
		if strings.Contains(text, value) {
			t.Errorf("the diff contains the value %q:\n%s", value, text)
		}
	}
	for _, line := range []string{
		"-  lost: '***'", "+  more: '***'", "-  other: '*** (before)'",
		"+  other: '*** (after)'", "   same: '***'",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the diff lacks the line %q:\n%s", line, text)
		}
	}
	if value, _, err := unstructured.NestedString(before.Object, "data", "other"); err != nil || value != "b2xk" {
		t.Error("masking changed the object instead of a copy")
	}
}

func TestUnifiedShowsCreatedAndDeletedObjects(t *testing.T) {
	obj := object(t, "kind: ConfigMap\ndata: {a: b}")
	created, err := changes.Unified("x", nil, obj)
	if err != nil || created != "--- /dev/null\n+++ x (after)\n@@ -0,0 +1,3 @@\n+data:\n+  a: b\n+kind: ConfigMap\n" {
		t.Errorf("Unified for a created object returned the error %v and the wrong diff %q", err, created)
	}
	if same, err := changes.Unified("x", obj, obj); same != "" || err != nil {
		t.Errorf("Unified for two equal objects returned the error %v and the diff %q, want no diff", err, same)
	}
}

func TestCleanKeepsTheFieldsOfAManifest(t *testing.T) {
	obj := object(t, `
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  uid: u
  resourceVersion: "1"
  generation: 1
  creationTimestamp: "2026-01-01T00:00:00Z"
  managedFields: [{manager: m}]
  labels: {x.io/owner-id: a}
  annotations: {x.io/owner-id: a, x.io/digest: d, x.io/order: "1"}
status: {phase: x}
`)
	want := object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {x.io/order: '1'}}}")
	if diff := cmp.Diff(want, changes.Clean(obj)); diff != "" {
		t.Error(diff)
	}
	if changes.Clean(nil) != nil {
		t.Error("Clean(nil) must return nil")
	}
}

func TestCleanDropsTheMarksOfReconcilersOnly(t *testing.T) {
	others := "labels: {y.io/object: web, y.io/digest: d}, annotations: {y.io/object: web, y.io/digest: d, object: web}"
	for name, marked := range map[string]string{
		"owned": "labels: {y.io/object: web, y.io/digest: d, x.io/owner-id: a}, annotations: {y.io/object: web, " +
			"y.io/digest: d, object: web, x.io/owner-id: a, x.io/digest: d, x.io/object: o, x.io/ignored-by-spec: s, " +
			"x.io/ignored-by-option: o}",
		"owned, without the readable name": "labels: {y.io/object: web, y.io/digest: d, x.io/owner-id: a}, annotations: " +
			"{y.io/object: web, y.io/digest: d, object: web, x.io/digest: d}",
		"owned, without the label": "labels: {y.io/object: web, y.io/digest: d}, annotations: " +
			"{y.io/object: web, y.io/digest: d, object: web, x.io/owner-id: a, x.io/digest: d}",
		"released": "labels: {y.io/object: web, y.io/digest: d}, annotations: " +
			"{y.io/object: web, y.io/digest: d, object: web, x.io/released-by: a, x.io/object: o}",
		"nobody's": others,
	} {
		want := object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, "+others+"}}")
		got := changes.Clean(object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, "+marked+"}}"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestOwnedKeepsTheFieldsOfAManager(t *testing.T) {
	live := object(t, `
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  labels: {a: ours, b: theirs}
  finalizers: [ours, theirs]
  managedFields:
    - {manager: m, operation: Apply, fieldsV1: {"f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {'v:"ours"': {}}},
        "f:spec": {"f:selector": {}, "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}}}}}
    - {manager: m, operation: Update, subresource: status, fieldsV1: {"f:status": {}}}
    - {manager: other, operation: Update, fieldsV1: {"f:metadata": {"f:labels": {"f:b": {}}}}}
spec:
  type: ClusterIP
  selector: {app: web}
  ports: [{port: 80, protocol: TCP, name: http}, {port: 81, protocol: TCP}]
status: {x: y}
`)
	want := object(t, `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, labels: {a: ours}, finalizers: [ours]}
spec: {selector: {app: web}, ports: [{port: 80}]}
`)
	if diff := cmp.Diff(want, changes.Owned(live, "m")); diff != "" {
		t.Error(diff)
	}
	if changes.Owned(live, "nobody") != nil {
		t.Error("Owned must return nil for a field manager that owns no fields")
	}
}

func TestManagedLeavesOutFieldsManagedThroughTheStatus(t *testing.T) {
	live := object(t, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {revision: "3"}
  managedFields:
    - {manager: m, operation: Apply, fieldsV1: {"f:spec": {"f:selector": {}}}}
    - {manager: scaler, operation: Update, subresource: scale, fieldsV1: {"f:spec": {"f:replicas": {}}}}
    - {manager: person, operation: Update, fieldsV1: {"f:spec": {"f:paused": {}}}}
    - {manager: controller, operation: Update, subresource: status, fieldsV1: {"f:metadata": {"f:annotations": {"f:revision": {}}}, "f:status": {}}}
spec: {selector: {app: web}, replicas: 5, paused: true, progressDeadlineSeconds: 600}
status: {x: y}
`)
	want := object(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {app: web}, "+
		"replicas: 5, paused: true}}")
	if diff := cmp.Diff(want, changes.Managed(live)); diff != "" {
		t.Error(diff)
	}
	if changes.Managed(object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")) != nil ||
		changes.Managed(nil) != nil {
		t.Error("Managed must return nil for an object without managed fields")
	}
}

func TestAtReturnsTheValueOfAPath(t *testing.T) {
	obj := object(t, "{spec: {containers: [{name: a}, {name: web, image: i}], args: [x, z]}, metadata: {labels: "+
		"{example.com/team: t}}}")
	for text, want := range map[string]any{
		"spec.containers[web].image": "i", ".spec.containers[1].image": "i", "spec.containers.web.image": "i",
		"spec.args[1]":                    "z",
		"spec.containers[name=web].image": "i", "spec.containers[image=i].name": "web", "spec.containers[image=none]": nil,
		"metadata.labels[example.com/team]": "t", `metadata.labels["example.com/team"]`: "t",
		"spec.containers[none].image": nil, "spec.args[2]": nil, "spec.args[-1]": nil, "spec.nothing": nil,
		"spec.args[0].deeper": nil,
	} {
		path, err := changes.ParsePath(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, found := path.At(obj); got != want || found != (want != nil) {
			t.Errorf("path %s has the value %v", text, got)
		}
	}
	for _, text := range []string{"", ".", "a[", "a..b", "a[]", "[x"} {
		if path, err := changes.ParsePath(text); err == nil {
			t.Errorf("%q is invalid, but was parsed as %v", text, path)
		}
	}
}

func TestInReturnsThePathInTheFormOfFields(t *testing.T) {
	obj := object(t, "{spec: {containers: [{name: a}, {name: web, ports: [{port: 80}, {port: 81}]}], args: [x]}, "+
		"metadata: {labels: {example.com/team: t}}}")
	for text, want := range map[string]string{
		"spec.containers.web.ports":                  "spec.containers[web].ports",
		"spec.containers[1].ports[port=81]":          "spec.containers[web].ports[1]",
		"spec.containers[name=web].ports[0].port":    "spec.containers[web].ports[0].port",
		"spec.args[0]":                               "spec.args[0]",
		`metadata.labels["example.com/team"]`:        "metadata.labels[example.com/team]",
		"spec.containers[none].image":                "spec.containers[none].image",
		"spec.containers[web].ports[port=82].deeper": "spec.containers[web].ports[port=82].deeper",
	} {
		path, err := changes.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := path.In(obj); got != want {
			t.Errorf("path %s has the form %s", text, got)
		}
	}
}

func FuzzParsePath(f *testing.F) {
	f.Add("spec.containers[web].image")
	f.Add("a[b.c/d][0]")
	fuzzing.Run(f, func(t *testing.T, text string) {
		path, err := changes.ParsePath(text)
		if err != nil {
			return
		}
		for _, step := range path {
			if step == "" {
				t.Fatalf("%q has an empty step: %q", text, path)
			}
		}
	})
}

func TestManagersOfAFieldAndOfFieldsAroundIt(t *testing.T) {
	live := object(t, `
apiVersion: v1
kind: Pod
metadata:
  name: web
  managedFields:
    - {manager: whole, operation: Apply, time: "2026-01-01T00:00:00Z", fieldsV1: {"f:spec": {"f:selector": {}}}}
    - {manager: item, operation: Update, time: "2026-01-02T00:00:00Z", subresource: status,
        fieldsV1: {"f:spec": {"f:containers": {'k:{"name":"web"}': {".": {}, "f:image": {}}}}}}
    - {manager: other, operation: Update, fieldsV1: {"f:spec": {"f:containers": {'k:{"name":"a"}': {"f:image": {}}}}}}
spec: {selector: {app: web}, containers: [{name: a, image: x}, {name: web, image: y, pull: Always}]}
`)
	for text, want := range map[string][]string{
		"spec.selector.app": {"whole Apply"}, "spec.containers[web].image": {"item Update status"},
		"spec.containers[a].image":  {"other Update"},
		"spec.containers[web].pull": nil, "spec": {"item Update status", "whole Apply", "other Update"},
	} {
		path, err := changes.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range changes.Managers(live, path) {
			got = append(got, strings.TrimSpace(m.Name+" "+m.Operation+" "+m.Subresource))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestUnifiedNumbersTheLinesOfAllHunks(t *testing.T) {
	lines := func(prefix string, added ...int) *unstructured.Unstructured {
		data := map[string]any{}
		for i := range 20 {
			data[fmt.Sprintf("%s%02d", prefix, i)] = "x"
		}
		for _, i := range added {
			data[fmt.Sprintf("%s%02da", prefix, i)] = "new"
		}
		return &unstructured.Unstructured{Object: map[string]any{"data": data}}
	}
	diff, err := changes.Unified("settings", lines("a"), lines("a", 2, 5, 8, 18))
	if err != nil {
		t.Fatal(err)
	}
	var headers []string
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, "@@") {
			headers = append(headers, strings.TrimSpace(line))
		}
	}
	if want := []string{"@@ -2,12 +2,15 @@", "@@ -18,4 +21,5 @@"}; !slices.Equal(headers, want) {
		t.Errorf("the headers of the hunks are %q, want %q", headers, want)
	}
}
