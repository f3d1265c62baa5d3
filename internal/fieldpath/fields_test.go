package fieldpath_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/fieldpath"
)

const web = `k:{"name":"web"}`

func TestTheManifestThatIsSent(t *testing.T) {
	const manifest = `
metadata: {annotations: {a.b/c: ours, own: x}}
spec: {replicas: 2, template: {spec: {containers: [{name: web, image: "web:2", args: [a]}]}}}
`
	const live = `
metadata: {annotations: {a.b/c: theirs, own: x}}
spec: {replicas: 5, paused: true, template: {spec: {containers: [{name: web, image: "web:1", args: [a]}]}}}
`
	const all = `{f:metadata: {f:annotations: {f:a.b/c: {}, f:own: {}}}, f:spec: {f:replicas: {}, f:paused: {}, f:template: {f:spec: {f:containers: {'k:{"name":"web"}': {.: {}, f:name: {}, f:image: {}, f:args: {}}}}}}}`
	const withoutReplicas = `{f:spec: {f:paused: {}}}`
	for _, c := range []struct {
		name, manifest, live, ours, others, paths, want string
	}{
		{
			"the live value of a field that only we own",
			"spec: {replicas: 2, paused: true}", "spec: {replicas: 5}", `{f:spec: {f:replicas: {}}}`, `{}`,
			"spec.replicas", "spec: {replicas: 5, paused: true}",
		},
		{
			"no value of a field that others own, too",
			"spec: {replicas: 2, paused: true}", "spec: {replicas: 5}", `{f:spec: {f:replicas: {}}}`,
			`{f:spec: {f:replicas: {}}}`, "spec.replicas", "spec: {paused: true}",
		},
		{
			"no value of a field that only others own",
			"spec: {replicas: 2, paused: true}", "spec: {replicas: 5}", withoutReplicas, `{f:spec: {f:replicas: {}}}`,
			"spec.replicas", "spec: {paused: true}",
		},
		{
			"no value of a default that nobody owns",
			"spec: {replicas: 2, paused: true}", "spec: {replicas: 1, paused: true}", withoutReplicas, `{}`,
			"spec.replicas", "spec: {paused: true}",
		},
		{
			"no value of a field that somebody removed",
			"spec: {replicas: 2, paused: true}", "spec: {paused: true}", withoutReplicas, `{}`,
			"spec.replicas", "spec: {paused: true}",
		},
		{
			"no map that has no other field",
			"spec: {replicas: 2}", "spec: {replicas: 5}", `{}`, `{f:spec: {f:replicas: {}}}`, "spec.replicas", "{}",
		},
		{
			"the live value of our field that the manifest dropped",
			"spec: {paused: true}", "spec: {replicas: 5}", `{f:spec: {f:replicas: {}}}`, `{}`,
			"spec.replicas", "spec: {replicas: 5, paused: true}",
		},
		{
			"no field of a map that the manifest dropped",
			"data: {}", "spec: {replicas: 5}", `{f:spec: {f:replicas: {}}}`, `{}`, "spec.replicas", "data: {}",
		},
		{
			"the value of the manifest in a map that the live object does not have",
			"spec: {scale: {replicas: 2}}", "spec: {paused: true}", withoutReplicas, `{}`,
			"spec.scale.replicas", "spec: {scale: {replicas: 2}}",
		},
		{
			"the live image of an item", manifest, live, all, `{}`, "spec.template.spec.containers[name=web].image",
			`
metadata: {annotations: {a.b/c: ours, own: x}}
spec: {replicas: 2, template: {spec: {containers: [{name: web, image: "web:1", args: [a]}]}}}
`,
		},
		{
			"no image of an item that others set",
			manifest, live, all, `{f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"web"}': {f:image: {}}}}}}}`,
			"spec.template.spec.containers[*].image",
			`
metadata: {annotations: {a.b/c: ours, own: x}}
spec: {replicas: 2, template: {spec: {containers: [{name: web, args: [a]}]}}}
`,
		},
		{
			"no annotation of others", manifest, live, all, `{f:metadata: {f:annotations: {f:a.b/c: {}}}}`,
			`metadata.annotations["a.b/c"], spec.template`,
			`
metadata: {annotations: {own: x}}
spec: {replicas: 2, template: {spec: {containers: [{name: web, image: "web:1", args: [a]}]}}}
`,
		},
		{
			"the image of the manifest in a new item",
			`spec: {containers: [{name: web, image: new}, {name: log, image: "log:1"}]}`,
			`spec: {containers: [{name: web, image: old}]}`,
			`{f:spec: {f:containers: {'k:{"name":"web"}': {.: {}, f:name: {}, f:image: {}}}}}`, `{}`,
			"spec.containers[*].image", `spec: {containers: [{name: web, image: old}, {name: log, image: "log:1"}]}`,
		},
		{
			"an item that only we own, with its live values",
			`spec: {containers: [{name: web, image: new}]}`, `spec: {containers: [{name: web, image: old, tty: true}]}`,
			`{f:spec: {f:containers: {'k:{"name":"web"}': {.: {}, f:name: {}, f:image: {}}}}}`, `{}`,
			"spec.containers[name=web]", `spec: {containers: [{name: web, image: old}]}`,
		},
		{
			"no item that only others own",
			`spec: {containers: [{name: web, image: new}, {name: log}]}`,
			`spec: {containers: [{name: web, image: old}, {name: log}]}`,
			`{f:spec: {f:containers: {'k:{"name":"log"}': {.: {}, f:name: {}}}}}`,
			`{f:spec: {f:containers: {'k:{"name":"web"}': {.: {}, f:name: {}, f:image: {}}}}}`,
			"spec.containers[web]", `spec: {containers: [{name: log}]}`,
		},
		{
			"in a list without merge keys, the live part with the parts of the manifest",
			`spec: {rules: [{host: a, http: new}, {host: b, http: new}]}`,
			`spec: {rules: [{host: a, http: old}, {host: b, http: old}]}`,
			`{f:spec: {f:rules: {}}}`, `{}`,
			"spec.rules[host=a].http", `spec: {rules: [{host: a, http: old}, {host: b, http: new}]}`,
		},
		{
			"of a map with several managers, the fields that only we own",
			"data: {a: ours, b: ours, c: ours}", "data: {a: live, b: live, d: live}",
			`{f:data: {.: {}, f:a: {}, f:b: {}}}`, `{f:data: {.: {}, f:b: {}, f:d: {}}}`, "data", "data: {a: live}",
		},
		{
			"every field by a star",
			"data: {a: ours, b: ours}", "data: {a: live, b: live}",
			`{f:data: {.: {}, f:a: {}}}`, `{f:data: {.: {}, f:b: {}}}`, "data[*]", "data: {a: live}",
		},
		{
			"live values without managed fields",
			"data: {a: ours, b: ours}", "data: {a: live}", `{}`, `{}`, "data.a", "data: {a: live, b: ours}",
		},
		{
			"a number that identifies an item",
			`spec: {ports: [{port: 80, nodePort: 1}, {port: 81, nodePort: 1}]}`,
			`spec: {ports: [{port: 80, protocol: TCP, nodePort: 2}, {port: 81, protocol: TCP, nodePort: 2}]}`,
			`{f:spec: {f:ports: {'k:{"port":80,"protocol":"TCP"}': {.: {}, f:port: {}, f:nodePort: {}}, 'k:{"port":81,"protocol":"TCP"}': {.: {}, f:port: {}, f:nodePort: {}}}}}`, `{}`,
			"spec.ports[port=80].nodePort", `spec: {ports: [{port: 80, nodePort: 2}, {port: 81, nodePort: 1}]}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			manifest := parse(t, c.manifest)
			l := fieldpath.Live{Object: parse(t, c.live), Ours: parse(t, c.ours), Others: parse(t, c.others)}
			got, err := fieldpath.Prepare(manifest, l, paths(t, c.paths))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, c.want), got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(parse(t, c.manifest), manifest); diff != "" {
				t.Errorf("the manifest was changed: %s", diff)
			}
		})
	}
}

func TestPathsThatTheAPIServerRefutes(t *testing.T) {
	const containers = `spec: {containers: [{name: web, image: new}]}`
	const fields = `{f:spec: {f:containers: {'k:{"name":"web"}': {.: {}, f:name: {}, f:image: {}}}}}`
	for path, want := range map[string]string{
		"spec.containers[*].name":      `path "spec.containers[*].name": the API server identifies the items of the list by name`,
		"spec.containers[*][*]":        "the API server identifies the items of the list by name",
		"spec.containers[image=x].tty": "it selects items of a list by image, but the API server identifies them by name",
	} {
		t.Run(path, func(t *testing.T) {
			live := fieldpath.Live{Object: parse(t, containers), Ours: parse(t, fields)}
			if _, err := fieldpath.Prepare(parse(t, containers), live, paths(t, path)); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestFieldsWithoutTheIgnored(t *testing.T) {
	const fields = `{f:spec: {f:replicas: {}, f:rules: {}, f:containers: {` +
		`'k:{"name":"web"}': {.: {}, f:name: {}, f:image: {}}, 'k:{"name":"log"}': {.: {}, f:name: {}}}}}`
	for _, c := range []struct{ name, fields, paths, want string }{
		{"a field", fields, "spec.replicas, spec.rules, spec.containers", `{}`},
		{"a map that becomes empty", `{f:spec: {f:a: {f:b: {}}, f:c: {}}}`, "spec.a.b", `{f:spec: {f:c: {}}}`},
		{
			"a field of an item", `{f:c: {'` + web + `': {.: {}, f:image: {}}}}`, "c[name=web].image",
			`{f:c: {'` + web + `': {.: {}}}}`,
		},
		{
			"an item by its name", `{f:c: {'` + web + `': {.: {}}, 'k:{"name":"log"}': {}}}`, "c[web]",
			`{f:c: {'k:{"name":"log"}': {}}}`,
		},
		{"all items of a set", `{f:c: {'v:"a"': {}, 'v:"b"': {}}, f:d: {}}`, "c[*]", `{f:d: {}}`},
		{"nothing in a value that is one field", `{f:rules: {}}`, "rules[host=a].http, rules.x", `{f:rules: {}}`},
		{"nothing that is not there", `{f:spec: {f:a: {}}}`, "spec.b, status.c", `{f:spec: {f:a: {}}}`},
		{
			"nothing by an invalid element", `{f:c: {'k:{': {.: {}, f:a: {}}}}`, "c[name=web]",
			`{f:c: {'k:{': {.: {}, f:a: {}}}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(parse(t, c.want), fieldpath.Mask(parse(t, c.fields), paths(t, c.paths))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnObjectWithoutTheIgnored(t *testing.T) {
	const object = `spec: {replicas: 2, ports: [{port: 80, nodePort: 1}, {port: 81, nodePort: 2}]}`
	for text, want := range map[string]string{
		"spec.replicas":                       `spec: {ports: [{port: 80, nodePort: 1}, {port: 81, nodePort: 2}]}`,
		"spec.ports[port=80].nodePort":        `spec: {replicas: 2, ports: [{port: 80}, {port: 81, nodePort: 2}]}`,
		"spec.ports[*].nodePort":              `spec: {replicas: 2, ports: [{port: 80}, {port: 81}]}`,
		"spec.ports[port=81], spec.replicas":  `spec: {ports: [{port: 80, nodePort: 1}]}`,
		"spec[*]":                             `{}`,
		"spec.replicas.x, spec.replicas[a=b]": object,
	} {
		t.Run(text, func(t *testing.T) {
			if diff := cmp.Diff(parse(t, want), fieldpath.Strip(parse(t, object), paths(t, text))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAManifestWithTheLiveValuesOfTheIgnored(t *testing.T) {
	const manifest = `{a: 1, b: {c: 1}, list: [{name: x, v: 1}, {name: z, v: 1}], new: {a: 1}}`
	const live = `{a: 2, b: {}, list: [{name: x, v: 2}, {name: z, v: 2}]}`
	for path, want := range map[string]string{
		"a":              `{a: 2, b: {c: 1}, list: [{name: x, v: 1}, {name: z, v: 1}], new: {a: 1}}`,
		"b.c":            `{a: 1, b: {}, list: [{name: x, v: 1}, {name: z, v: 1}], new: {a: 1}}`,
		"list[name=z].v": `{a: 1, b: {c: 1}, list: [{name: x, v: 1}, {name: z, v: 2}], new: {a: 1}}`,
		"list[x]":        `{a: 1, b: {c: 1}, list: [{name: x, v: 2}, {name: z, v: 1}], new: {a: 1}}`,
		"list[*].v":      `{a: 1, b: {c: 1}, list: [{name: x, v: 2}, {name: z, v: 2}], new: {a: 1}}`,
		"new.a":          manifest,
		"d":              manifest,
	} {
		t.Run(path, func(t *testing.T) {
			if diff := cmp.Diff(parse(t, want), fieldpath.Overlay(parse(t, manifest), parse(t, live),
				paths(t, path))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func paths(t *testing.T, text string) []fieldpath.Path {
	t.Helper()
	parsed, err := fieldpath.ParseList(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var value map[string]any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
