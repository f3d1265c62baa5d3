package execute

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const reconciler = "shop.example.com"

// parse decodes YAML in the same way as manifests are decoded: whole numbers are int64.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]any{}
	if err := utiljson.Unmarshal(data, &content); err != nil {
		t.Fatal(err)
	}
	return content
}

// liveObject returns an object with two managed fields entries for the operation Update: our entry, and an entry of
// another manager.
func liveObject(t *testing.T, text, ours, theirs string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: parse(t, text)}
	var entries []metav1.ManagedFieldsEntry
	for manager, fields := range map[string]string{reconciler: ours, "somebody": theirs} {
		if fields == "" {
			continue
		}
		data, err := yaml.YAMLToJSON([]byte(fields))
		if err != nil {
			t.Fatal(err)
		}
		f := &metav1.FieldsV1{}
		f.SetRawBytes(data)
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: f,
		})
	}
	o.SetManagedFields(entries)
	return o
}

// withoutEntries removes the managed fields.
func withoutEntries(content map[string]any) map[string]any {
	o := (&unstructured.Unstructured{Object: content}).DeepCopy()
	o.SetManagedFields(nil)
	if metadata, _ := o.Object["metadata"].(map[string]any); len(metadata) == 0 {
		delete(o.Object, "metadata")
	}
	return o.Object
}

func TestMergeOfAManifest(t *testing.T) {
	for _, c := range []struct {
		name                         string
		live, ours, theirs, manifest string
		want                         string
	}{
		{
			name: "sets the values of the manifest",
			live: `{spec: {replicas: 1}}`, ours: `{f:spec: {f:replicas: {}}}`,
			manifest: `{spec: {replicas: 2}}`, want: `{spec: {replicas: 2}}`,
		},
		{
			name:     "keeps the values of the API server",
			live:     `{metadata: {uid: u, resourceVersion: "7"}, spec: {clusterIP: 10.0.0.1, type: ClusterIP}, status: {x: 1}}`,
			ours:     `{f:spec: {f:type: {}}}`,
			manifest: `{spec: {type: ClusterIP}}`,
			want:     `{metadata: {uid: u, resourceVersion: "7"}, spec: {clusterIP: 10.0.0.1, type: ClusterIP}, status: {x: 1}}`,
		},
		{
			name:     "keeps the node port of a Service",
			live:     `{spec: {ports: [{name: http, port: 80, protocol: TCP, nodePort: 30080}]}}`,
			ours:     `{f:spec: {f:ports: {.: {}, 'k:{"port":80,"protocol":"TCP"}': {.: {}, f:name: {}, f:port: {}}}}}`,
			manifest: `{spec: {ports: [{name: web, port: 80}]}}`,
			want:     `{spec: {ports: [{name: web, port: 80, protocol: TCP, nodePort: 30080}]}}`,
		},
		{
			name: "keeps the replicas of an autoscaler",
			live: `{spec: {replicas: 5, paused: false}}`, ours: `{f:spec: {f:paused: {}}}`, theirs: `{f:spec: {f:replicas: {}}}`,
			manifest: `{spec: {paused: true}}`, want: `{spec: {replicas: 5, paused: true}}`,
		},
		{
			name: "removes our values that the manifest dropped",
			live: `{data: {a: x, b: y, c: z}}`, ours: `{f:data: {.: {}, f:a: {}, f:b: {}}}`, theirs: `{f:data: {f:c: {}}}`,
			manifest: `{data: {a: x}}`, want: `{data: {a: x, c: z}}`,
		},
		{
			name: "removes a map with its fields",
			live: `{data: {a: x}}`, ours: `{f:data: {.: {}, f:a: {}}}`, manifest: `{}`, want: `{}`,
		},
		{
			name: "keeps the fields of others in a dropped map",
			live: `{data: {a: x, b: y}}`, ours: `{f:data: {.: {}, f:a: {}}}`, theirs: `{f:data: {f:b: {}}}`, manifest: `{}`,
			want: `{data: {b: y}}`,
		},
		{
			name: "removes our value that the manifest sets to null",
			live: `{spec: {replicas: 2}}`, ours: `{f:spec: {f:replicas: {}}}`, manifest: `{spec: {replicas: null}}`,
			want: `{spec: {}}`,
		},
		{
			name: "keeps a value of another manager that the manifest sets to null",
			live: `{spec: {replicas: 2}}`, theirs: `{f:spec: {f:replicas: {}}}`, manifest: `{spec: {replicas: null}}`,
			want: `{spec: {replicas: 2}}`,
		},
		{
			name: "keeps the finalizers of others",
			live: `{metadata: {finalizers: [theirs/x]}}`, theirs: `{f:metadata: {f:finalizers: {.: {}, 'v:"theirs/x"': {}}}}`,
			manifest: `{metadata: {labels: {a: b}}}`, want: `{metadata: {finalizers: [theirs/x], labels: {a: b}}}`,
		},
		{
			name: "keeps the finalizers of others beside ours, without an entry for them",
			live: `{metadata: {finalizers: [theirs/x]}}`, manifest: `{metadata: {finalizers: [ours/y]}}`,
			want: `{metadata: {finalizers: [ours/y, theirs/x]}}`,
		},
		{
			name:   "removes our finalizer that the manifest dropped",
			live:   `{metadata: {finalizers: [ours/y, theirs/x]}}`,
			ours:   `{f:metadata: {f:finalizers: {.: {}, 'v:"ours/y"': {}}}}`,
			theirs: `{f:metadata: {f:finalizers: {'v:"theirs/x"': {}}}}`, manifest: `{metadata: {labels: {a: b}}}`,
			want: `{metadata: {finalizers: [theirs/x], labels: {a: b}}}`,
		},
		{
			name: "replaces a selector, which is one field",
			live: `{spec: {selector: {app: web, tier: front}}}`, ours: `{f:spec: {f:selector: {}}}`,
			manifest: `{spec: {selector: {app: web}}}`, want: `{spec: {selector: {app: web}}}`,
		},
		{
			name: "replaces a selector of another manager",
			live: `{spec: {selector: {tier: front}}}`, theirs: `{f:spec: {f:selector: {}}}`,
			manifest: `{spec: {selector: {app: web}}}`, want: `{spec: {selector: {app: web}}}`,
		},
		{
			name: "merges a map that we set empty and others filled",
			live: `{metadata: {labels: {theirs: x}}}`, ours: `{f:metadata: {f:labels: {}}}`,
			theirs:   `{f:metadata: {f:labels: {f:theirs: {}}}}`,
			manifest: `{metadata: {labels: {ours: y}}}`, want: `{metadata: {labels: {theirs: x, ours: y}}}`,
		},
		{
			name: "replaces a list whose items have no identity",
			live: `{spec: {args: [a, b]}}`, ours: `{f:spec: {f:args: {}}}`, manifest: `{spec: {args: [c]}}`,
			want: `{spec: {args: [c]}}`,
		},
		{
			name: "keeps an injected container and its position",
			live: `{spec: {containers: [{name: proxy, image: p}, {name: app, image: a, tty: true}, {name: old, image: o}]}}`,
			ours: `{f:spec: {f:containers: {'k:{"name":"app"}': {.: {}, f:name: {}, f:image: {}}, ` +
				`'k:{"name":"old"}': {.: {}, f:name: {}, f:image: {}}}}}`,
			theirs: `{f:spec: {f:containers: {'k:{"name":"proxy"}': {.: {}, f:name: {}, f:image: {}}, ` +
				`'k:{"name":"app"}': {f:tty: {}}}}}`,
			manifest: `{spec: {containers: [{name: app, image: b}, {name: new, image: n}]}}`,
			want:     `{spec: {containers: [{name: proxy, image: p}, {name: app, image: b, tty: true}, {name: new, image: n}]}}`,
		},
		{
			name: "follows the order of the manifest",
			live: `{spec: {containers: [{name: a, image: a}, {name: b, image: b}]}}`,
			ours: `{f:spec: {f:containers: {'k:{"name":"a"}': {.: {}, f:name: {}, f:image: {}}, ` +
				`'k:{"name":"b"}': {.: {}, f:name: {}, f:image: {}}}}}`,
			manifest: `{spec: {containers: [{name: b, image: b}, {name: a, image: a}]}}`,
			want:     `{spec: {containers: [{name: b, image: b}, {name: a, image: a}]}}`,
		},
		{
			name: "keeps a container of others in an object that is adopted",
			live: `{spec: {containers: [{name: app, image: a}, {name: proxy, image: p}]}}`,
			theirs: `{f:spec: {f:containers: {'k:{"name":"app"}': {.: {}, f:name: {}, f:image: {}}, ` +
				`'k:{"name":"proxy"}': {.: {}, f:name: {}, f:image: {}}}}}`,
			manifest: `{spec: {containers: [{name: app, image: b}]}}`,
			want:     `{spec: {containers: [{name: app, image: b}, {name: proxy, image: p}]}}`,
		},
		{
			name:     "removes a field of a container that the manifest dropped",
			live:     `{spec: {containers: [{name: app, image: a, workingDir: /x}]}}`,
			ours:     `{f:spec: {f:containers: {'k:{"name":"app"}': {.: {}, f:name: {}, f:image: {}, f:workingDir: {}}}}}`,
			manifest: `{spec: {containers: [{name: app, image: a}]}}`,
			want:     `{spec: {containers: [{name: app, image: a}]}}`,
		},
		{
			name:     "removes our items of a list that the manifest dropped",
			live:     `{spec: {tolerations: [{key: a}, {key: b}]}}`,
			ours:     `{f:spec: {f:tolerations: {'k:{"key":"a"}': {.: {}, f:key: {}}}}}`,
			theirs:   `{f:spec: {f:tolerations: {'k:{"key":"b"}': {.: {}, f:key: {}}}}}`,
			manifest: `{spec: {x: 1}}`, want: `{spec: {x: 1, tolerations: [{key: b}]}}`,
		},
		{
			name: "adds TCP beside UDP",
			live: `{spec: {ports: [{name: dns, port: 53, protocol: UDP, nodePort: 30053}]}}`,
			ours: `{f:spec: {f:ports: {.: {}, ` +
				`'k:{"port":53,"protocol":"UDP"}': {.: {}, f:name: {}, f:port: {}, f:protocol: {}}}}}`,
			manifest: `{spec: {ports: [{name: dns-tcp, port: 53}, {name: dns, port: 53, protocol: UDP}]}}`,
			want:     `{spec: {ports: [{name: dns-tcp, port: 53}, {name: dns, port: 53, protocol: UDP, nodePort: 30053}]}}`,
		},
		{
			name: "replaces a value of another type",
			live: `{spec: {x: text}}`, ours: `{f:spec: {f:x: {}}}`, manifest: `{spec: {x: {a: b}}}`, want: `{spec: {x: {a: b}}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			live := liveObject(t, c.live, c.ours, c.theirs)
			before := live.DeepCopy()
			manifest := parse(t, c.manifest)
			owned := inspect.Entry(live.GetManagedFields(), reconciler, metav1.ManagedFieldsOperationUpdate)
			got, changed := merge(live, manifest, owned)
			if diff := cmp.Diff(parse(t, c.want), withoutEntries(got)); diff != "" {
				t.Error(diff)
			}
			if wanted := !cmp.Equal(parse(t, c.want), withoutEntries(before.Object)); changed != wanted {
				t.Errorf("the merge reported that the object changed: %v, want the opposite", changed)
			}
			if diff := cmp.Diff(before.Object, live.Object); diff != "" {
				t.Errorf("the merge changed the live object of its argument:\n%s", diff)
			}
			if diff := cmp.Diff(parse(t, c.manifest), manifest); diff != "" {
				t.Errorf("the merge changed the manifest of its argument:\n%s", diff)
			}
		})
	}
}

func TestUpdatesAreRecordedInOneEntry(t *testing.T) {
	manifest := &unstructured.Unstructured{Object: parse(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {x: y}}
data: {a: x, fresh: z}
`)}
	updated := liveObject(t,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {x: y}}, data: {a: x, b: y, fresh: z}}`,
		`{f:data: {.: {}, f:old: {}}}`, `{f:metadata: {f:labels: {.: {}, f:x: {}}}, f:data: {f:a: {}, f:b: {}}}`)
	applied := *updated.GetManagedFields()[0].DeepCopy()
	applied.Manager, applied.Operation = reconciler, metav1.ManagedFieldsOperationApply
	status := *applied.DeepCopy()
	status.Subresource = "status"
	before := *applied.DeepCopy()
	before.Manager, before.Operation = "kubectl-create", metav1.ManagedFieldsOperationUpdate
	before.FieldsV1.SetRawBytes([]byte(`{"f:data":{".":{},"f:a":{},"f:b":{}}}`))
	updated.SetManagedFields(append(updated.GetManagedFields(), applied, status, before))
	theirs := inspect.Entry(updated.GetManagedFields(), "somebody", metav1.ManagedFieldsOperationUpdate)

	a := plan.Action{Object: &manifests.Object{Body: manifest}, PreviousManagers: []string{"kubectl-create"}}
	if err := rewriteUpdate(updated, a, reconciler); err != nil {
		t.Fatal(err)
	}
	entries := updated.GetManagedFields()
	t.Run("our entry covers the fields of the manifest that any entry has", func(t *testing.T) {
		want := parse(t, `{f:metadata: {f:labels: {.: {}, f:x: {}}}, f:data: {.: {}, f:a: {}}}`)
		if diff := cmp.Diff(want, inspect.Entry(entries, reconciler, metav1.ManagedFieldsOperationUpdate)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("our entry by server-side apply is dropped", func(t *testing.T) {
		if inspect.Entry(entries, reconciler, metav1.ManagedFieldsOperationApply) != nil {
			t.Error("the reconciler's Apply entry in the managed fields still exists")
		}
	})
	t.Run("the entries of others stay", func(t *testing.T) {
		if diff := cmp.Diff(theirs, inspect.Entry(entries, "somebody", metav1.ManagedFieldsOperationUpdate)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a predecessor keeps the fields that the manifest does not have", func(t *testing.T) {
		theirs := inspect.Entry(entries, "kubectl-create", metav1.ManagedFieldsOperationUpdate)
		if diff := cmp.Diff(parse(t, `{f:data: {f:b: {}}}`), theirs); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("the entries of subresources stay", func(t *testing.T) {
		found := false
		for _, e := range entries {
			found = found || e.Subresource == "status"
		}
		if !found {
			t.Error("the entry of the status subresource in the managed fields is missing")
		}
	})
}
