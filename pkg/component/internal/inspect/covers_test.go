package inspect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		name, manifest, fields string
		want                   bool
	}{
		{"a Deployment as it was applied", deployment, deploymentFields, true},
		{
			"not if another manager took over a field",
			`{spec: {replicas: 2, paused: true}}`, `{f:spec: {f:paused: {}}}`, false,
		},
		{"not if other managers took over all fields", `{spec: {replicas: 2}}`, `{}`, false},
		{
			"not if another manager owns a container", `{spec: {containers: [{name: a, image: i}, {name: b, image: i}]}}`,
			`{f:spec: {f:containers: {'k:{"name":"a"}': {.: {}, f:name: {}, f:image: {}}}}}`, false,
		},
		{
			"not if another manager owns a field of a container", `{spec: {containers: [{name: a, image: i}]}}`,
			`{f:spec: {f:containers: {'k:{"name":"a"}': {.: {}, f:name: {}}}}}`, false,
		},
		{
			"fields that the manifest does not set are ignored",
			`{spec: {replicas: 2}}`, `{f:spec: {f:replicas: {}, f:paused: {}}}`, true,
		},
		{
			"apiVersion, kind, name and namespace need no owner",
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}}`, `{}`, true,
		},
		{"labels need an owner", `{metadata: {name: a, labels: {x: y}}}`, `{f:metadata: {f:annotations: {f:x: {}}}}`, false},
		{"a null needs no owner", `{spec: {replicas: null}}`, `{f:spec: {f:x: {}}}`, true},
		{"an empty map needs no owner", `{spec: {securityContext: {}}}`, `{f:spec: {f:x: {}}}`, true},
		{"an empty list needs no owner", `{spec: {args: []}}`, `{f:spec: {f:x: {}}}`, true},
		{"an empty string needs an owner", `{spec: {path: ""}}`, `{f:spec: {f:x: {}}}`, false},
		{"zero and false need an owner", `{spec: {replicas: 0, paused: false}}`, `{f:spec: {f:replicas: {}}}`, false},
		{"an atomic list is owned as a whole", `{spec: {args: [a, b]}}`, `{f:spec: {f:args: {}}}`, true},
		{"an atomic map is owned as a whole", `{spec: {selector: {a: b}}}`, `{f:spec: {f:selector: {}}}`, true},
		{"data of a ConfigMap is owned key by key", `{data: {a: x, b: y}}`, `{f:data: {.: {}, f:a: {}}}`, false},
		{
			"an item of a set", `{metadata: {finalizers: [a/x, b/y]}}`,
			`{f:metadata: {f:finalizers: {.: {}, 'v:"a/x"': {}, 'v:"b/y"': {}}}}`, true,
		},
		{
			"not if another manager added an item of a set",
			`{metadata: {finalizers: [a/x, b/y]}}`, `{f:metadata: {f:finalizers: {'v:"a/x"': {}}}}`, false,
		},
		{"a number in a set", `{spec: {ports: [80]}}`, `{f:spec: {f:ports: {'v:80': {}}}}`, true},
		{
			"not if the set contains a number and the manifest a text",
			`{spec: {ports: ["80"]}}`, `{f:spec: {f:ports: {'v:80': {}}}}`, false,
		},
		{
			"a port of a Service whose protocol was defaulted", `{spec: {ports: [{port: 80, targetPort: http}]}}`,
			`{f:spec: {f:ports: {'k:{"port":80,"protocol":"TCP"}': {.: {}, f:port: {}, f:targetPort: {}}}}}`, true,
		},
		{
			"not if the owned port has another protocol", `{spec: {ports: [{port: 53, name: dns}]}}`,
			`{f:spec: {f:ports: {'k:{"port":53,"protocol":"UDP"}': {.: {}, f:port: {}, f:name: {}}}}}`, false,
		},
		{
			"an item whose missing key has an unknown default", `{spec: {servers: [{name: a, weight: 1}]}}`,
			`{f:spec: {f:servers: {'k:{"name":"a","zone":"main"}': {.: {}, f:name: {}, f:weight: {}}}}}`, true,
		},
		{
			"versions of a CRD",
			`{spec: {group: example.com, versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object}}}]}}`,
			`{f:spec: {f:group: {}, f:versions: {}}}`, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := covers(parse(t, c.manifest), parse(t, c.fields)); got != c.want {
				t.Errorf("covers returned %v, want the opposite", got)
			}
		})
	}
}

func TestProject(t *testing.T) {
	for _, c := range []struct {
		name, live, manifest, want string
	}{
		{
			"keeps the fields that the manifest sets",
			`{spec: {replicas: 3, paused: true}, status: {ready: 1}}`, `{spec: {replicas: 2}}`, `{spec: {replicas: 3}}`,
		},
		{
			"returns null for a value that the live object does not have",
			`{spec: {}}`, `{spec: {replicas: 2}}`, `{spec: {replicas: null}}`,
		},
		{"omits a null of the manifest", `{spec: {replicas: 3}}`, `{spec: {replicas: null}}`, `{spec: {}}`},
		{
			"omits an empty map of the manifest",
			`{spec: {securityContext: {runAsUser: 1}}}`, `{spec: {securityContext: {}}}`, `{spec: {}}`,
		},
		{"omits an empty list of the manifest", `{spec: {args: [a]}}`, `{spec: {args: []}}`, `{spec: {}}`},
		{
			"compares the items of lists of equal length",
			`{l: [{name: a, x: 1}, {name: b, x: 2}]}`, `{l: [{name: a}, {name: b}]}`, `{l: [{name: a}, {name: b}]}`,
		},
		{
			"keeps a live list of another length as a whole",
			`{l: [{name: a, x: 1}, {name: b}]}`, `{l: [{name: a}]}`, `{l: [{name: a, x: 1}, {name: b}]}`,
		},
		{"keeps a live value of another type as a whole", `{l: text}`, `{l: {a: b}}`, `{l: text}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(parse(t, c.want), project(parse(t, c.live), parse(t, c.manifest))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
