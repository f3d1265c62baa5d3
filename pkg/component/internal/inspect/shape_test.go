package inspect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestShape(t *testing.T) {
	got := Shape([]metav1.ManagedFieldsEntry{
		entry(t, "a", metav1.ManagedFieldsOperationApply,
			`{f:spec: {f:replicas: {}, f:containers: {'k:{"name":"a"}': {f:image: {}}}}}`),
		entry(t, "b", metav1.ManagedFieldsOperationUpdate,
			`{f:spec: {f:containers: {'k:{"name":"a"}': {f:args: {}}, 'k:{"name":"b"}': {}}}, f:status: {f:x: {}}}`),
		{Manager: "c"},
	})
	want := parse(t, `
f:spec:
  f:replicas: {}
  f:containers:
    'k:{"name":"a"}': {f:image: {}, f:args: {}}
    'k:{"name":"b"}': {}
f:status: {f:x: {}}
`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFieldsOf(t *testing.T) {
	for _, c := range []struct {
		name, manifest, shape, want string
	}{
		{"a Deployment as it was applied", deployment, deploymentFields, `
f:metadata: {f:labels: {f:app: {}}}
f:spec:
  f:replicas: {}
  f:selector: {}
  f:template:
    f:metadata: {f:labels: {f:app: {}}}
    f:spec:
      f:nodeSelector: {}
      f:containers:
        'k:{"name":"app"}':
          .: {}
          f:name: {}
          f:image: {}
          f:args: {}
          f:ports: {'k:{"containerPort":8080,"protocol":"TCP"}': {.: {}, f:containerPort: {}}}
          f:env: {'k:{"name":"MODE"}': {.: {}, f:name: {}, f:value: {}}}
`},
		{
			"omits fields that other managers set",
			`{spec: {replicas: 2}}`, `{f:spec: {f:replicas: {}, f:paused: {}}, f:status: {f:x: {}}}`,
			`{f:spec: {f:replicas: {}}}`,
		},
		{
			"omits name and namespace", `{apiVersion: v1, kind: X, metadata: {name: a, namespace: b, labels: {x: y}}}`,
			`{f:metadata: {f:name: {}, f:namespace: {}, f:labels: {.: {}, f:x: {}}}}`,
			`{f:metadata: {f:labels: {.: {}, f:x: {}}}}`,
		},
		{"omits fields that are not in the live shape", `{spec: {replicas: 2}}`, `{f:spec: {f:paused: {}}}`, `{}`},
		{
			"does not include a whole map if none of its fields is known",
			`{spec: {template: {a: b}}}`, `{f:spec: {f:template: {f:c: {}}}}`, `{}`,
		},
		{
			"does not include a whole list if none of its items is known",
			`{l: [{name: a}]}`, `{f:l: {'k:{"name":"b"}': {.: {}}}}`, `{}`,
		},
		{
			"includes only the items of a list that the manifest has",
			`{l: [{name: a, x: 1}]}`,
			`{f:l: {'k:{"name":"a"}': {.: {}, f:name: {}, f:x: {}, f:y: {}}, 'k:{"name":"b"}': {.: {}}}}`,
			`{f:l: {'k:{"name":"a"}': {.: {}, f:name: {}, f:x: {}}}}`,
		},
		{
			"includes only the items of a set that the manifest has, and not the set itself",
			`{l: [a]}`, `{f:l: {.: {}, 'v:"a"': {}, 'v:"b"': {}}}`, `{f:l: {'v:"a"': {}}}`,
		},
		{
			"distinguishes ports with the same number and different protocols",
			`{l: [{port: 53, protocol: UDP}, {port: 53, name: tcp}]}`,
			`{f:l: {'k:{"port":53,"protocol":"TCP"}': {f:port: {}, f:name: {}}, 'k:{"port":53,"protocol":"UDP"}': {f:port: {}, f:protocol: {}, f:name: {}}}}`,
			`{f:l: {'k:{"port":53,"protocol":"TCP"}': {f:port: {}, f:name: {}}, 'k:{"port":53,"protocol":"UDP"}': {f:port: {}, f:protocol: {}}}}`,
		},
		{"includes an atomic list as a whole", `{l: [a]}`, `{f:l: {}}`, `{f:l: {}}`},
		{"includes no field for null and empty values", `{a: null, b: {}, c: []}`, `{f:a: {}, f:b: {}, f:c: {}}`, `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := FieldsOf(parse(t, c.manifest), parse(t, c.shape))
			if diff := cmp.Diff(parse(t, c.want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
