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
		{"not when somebody took over a field", `{spec: {replicas: 2, paused: true}}`, `{f:spec: {f:paused: {}}}`, false},
		{"not when somebody took over everything", `{spec: {replicas: 2}}`, `{}`, false},
		{
			"not when a container is somebody else's", `{spec: {containers: [{name: a, image: i}, {name: b, image: i}]}}`,
			`{f:spec: {f:containers: {'k:{"name":"a"}': {.: {}, f:name: {}, f:image: {}}}}}`, false,
		},
		{
			"not when a field of a container is", `{spec: {containers: [{name: a, image: i}]}}`,
			`{f:spec: {f:containers: {'k:{"name":"a"}': {.: {}, f:name: {}}}}}`, false,
		},
		{"what the manifest does not name does not matter", `{spec: {replicas: 2}}`, `{f:spec: {f:replicas: {}, f:paused: {}}}`, true},
		{"identity is nobody's", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}}`, `{}`, true},
		{"labels are somebody's", `{metadata: {name: a, labels: {x: y}}}`, `{f:metadata: {f:annotations: {f:x: {}}}}`, false},
		{"null claims nothing", `{spec: {replicas: null}}`, `{f:spec: {f:x: {}}}`, true},
		{"an empty map claims nothing", `{spec: {securityContext: {}}}`, `{f:spec: {f:x: {}}}`, true},
		{"an empty list claims nothing", `{spec: {args: []}}`, `{f:spec: {f:x: {}}}`, true},
		{"an empty string claims", `{spec: {path: ""}}`, `{f:spec: {f:x: {}}}`, false},
		{"zero and false claim", `{spec: {replicas: 0, paused: false}}`, `{f:spec: {f:replicas: {}}}`, false},
		{"an atomic list is owned as a whole", `{spec: {args: [a, b]}}`, `{f:spec: {f:args: {}}}`, true},
		{"an atomic map is owned as a whole", `{spec: {selector: {a: b}}}`, `{f:spec: {f:selector: {}}}`, true},
		{"data of a ConfigMap is owned key by key", `{data: {a: x, b: y}}`, `{f:data: {.: {}, f:a: {}}}`, false},
		{"an item of a set", `{metadata: {finalizers: [a/x, b/y]}}`, `{f:metadata: {f:finalizers: {.: {}, 'v:"a/x"': {}, 'v:"b/y"': {}}}}`, true},
		{"not an item of a set that somebody else put in", `{metadata: {finalizers: [a/x, b/y]}}`, `{f:metadata: {f:finalizers: {'v:"a/x"': {}}}}`, false},
		{"a number in a set", `{spec: {ports: [80]}}`, `{f:spec: {f:ports: {'v:80': {}}}}`, true},
		{"not a text that looks like the number", `{spec: {ports: ["80"]}}`, `{f:spec: {f:ports: {'v:80': {}}}}`, false},
		{
			"a port of a Service whose protocol was defaulted", `{spec: {ports: [{port: 80, targetPort: http}]}}`,
			`{f:spec: {f:ports: {'k:{"port":80,"protocol":"TCP"}': {.: {}, f:port: {}, f:targetPort: {}}}}}`, true,
		},
		{
			"not the port of another protocol", `{spec: {ports: [{port: 53, name: dns}]}}`,
			`{f:spec: {f:ports: {'k:{"port":53,"protocol":"UDP"}': {.: {}, f:port: {}, f:name: {}}}}}`, false,
		},
		{
			"an item whose missing key has an unknown default", `{spec: {servers: [{name: a, weight: 1}]}}`,
			`{f:spec: {f:servers: {'k:{"name":"a","zone":"main"}': {.: {}, f:name: {}, f:weight: {}}}}}`, true,
		},
		{
			"versions of a CRD", `{spec: {group: example.com, versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object}}}]}}`,
			`{f:spec: {f:group: {}, f:versions: {}}}`, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := covers(parse(t, c.manifest), parse(t, c.fields)); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestProject(t *testing.T) {
	for _, c := range []struct {
		name, live, manifest, want string
	}{
		{"keeps what the manifest names", `{spec: {replicas: 3, paused: true}, status: {ready: 1}}`, `{spec: {replicas: 2}}`, `{spec: {replicas: 3}}`},
		{"shows that a value is gone", `{spec: {}}`, `{spec: {replicas: 2}}`, `{spec: {replicas: null}}`},
		{"leaves out null", `{spec: {replicas: 3}}`, `{spec: {replicas: null}}`, `{spec: {}}`},
		{"leaves out an empty map", `{spec: {securityContext: {runAsUser: 1}}}`, `{spec: {securityContext: {}}}`, `{spec: {}}`},
		{"leaves out an empty list", `{spec: {args: [a]}}`, `{spec: {args: []}}`, `{spec: {}}`},
		{"goes into lists of equal length", `{l: [{name: a, x: 1}, {name: b, x: 2}]}`, `{l: [{name: a}, {name: b}]}`, `{l: [{name: a}, {name: b}]}`},
		{"takes other lists whole", `{l: [{name: a, x: 1}, {name: b}]}`, `{l: [{name: a}]}`, `{l: [{name: a, x: 1}, {name: b}]}`},
		{"takes another type whole", `{l: text}`, `{l: {a: b}}`, `{l: text}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(parse(t, c.want), project(parse(t, c.live), parse(t, c.manifest))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
