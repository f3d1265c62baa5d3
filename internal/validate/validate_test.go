package validate_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/internal/validate"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// subject returns the subject of a manifest.
func subject(t testing.TB, text string) validate.Subject {
	t.Helper()
	body := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &body.Object); err != nil {
		t.Fatal(err)
	}
	gvk := body.GroupVersionKind()
	return validate.Subject{Object: manifests.Object{
		Key:     manifests.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: body.GetNamespace(), Name: body.GetName()},
		Version: gvk.Version, Body: body,
	}}
}

func texts(faults []validate.Fault) string {
	var found []string
	for _, f := range faults {
		text := f.String()
		if f.Certain {
			text += " (certain)"
		}
		found = append(found, text)
	}
	return strings.Join(found, "\n")
}

func TestFaults(t *testing.T) {
	configMap := func(metadata, rest string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {" + metadata + "}" + rest + "}"
	}
	for _, c := range []struct {
		name, text string
		edit       func(*validate.Subject)
		// want are parts of the faults, in order; none for a manifest that is accepted.
		want []string
	}{
		{
			"accepts an ordinary manifest", configMap("name: a.b-c, namespace: shop, labels: {a/b: c}", ", data: {a.b_c: d}"),
			nil, nil,
		},
		{"suspects a name with capitals", configMap("name: Bad", ""), nil, []string{`metadata.name: Invalid value: "Bad"`}},
		{
			"accepts any name of an object that exists", configMap("name: Bad", ""),
			func(s *validate.Subject) { s.Exists = true }, nil,
		},
		{
			"refuses a name that is no part of a path", configMap("name: a/b", ""), nil,
			[]string{"may not contain '/' (certain)"},
		},
		{
			"refuses a namespace that cannot exist", configMap("name: a, namespace: Not_Valid", ""), nil,
			[]string{`metadata.namespace: Invalid value: "Not_Valid"`},
		},
		{
			"accepts the ports of a Service",
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{name: a, port: 80, targetPort: http}, {name: b, port: 80, protocol: UDP, nodePort: 0}]}}`,
			nil, nil,
		},
		{
			"suspects several ports with one name",
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{name: a, port: 80}, {name: a, port: 81}, {port: 82}]}}`, nil,
			[]string{`spec.ports[1].name: Duplicate value: "a"`, "spec.ports[2].name: Required value"},
		},
		{
			"accepts any ports of a Service of another group",
			`{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}, {port: 81}]}}`,
			nil, nil,
		},
		{
			"accepts the colons of a role",
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "system:a"}}`, nil, nil,
		},
		{
			"accepts the colons of an IP address",
			`{apiVersion: networking.k8s.io/v1, kind: IPAddress, metadata: {name: "2001:db8::1"}}`, nil, nil,
		},
		{
			"suspects an IP address in another form",
			`{apiVersion: networking.k8s.io/v1, kind: IPAddress, metadata: {name: "2001:DB8::1"}}`, nil,
			[]string{"metadata.name"},
		},
		{
			"accepts any name of an unknown type",
			`{apiVersion: image.openshift.io/v1, kind: ImageStreamTag, metadata: {name: "app:latest"}}`,
			func(s *validate.Subject) { s.UnknownType = true }, nil,
		},
		{
			"suspects a Service whose name begins with a digit", "{apiVersion: v1, kind: Service, metadata: {name: 1a}}", nil,
			[]string{"metadata.name"},
		},
		{
			"suspects a CronJob whose Jobs would have too long names",
			"{apiVersion: batch/v1, kind: CronJob, metadata: {name: " + strings.Repeat("a", 53) + "}}", nil,
			[]string{"must be no more than 52"},
		},
		{
			"suspects labels, also of a pod template",
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, labels: {a: b c}}, " +
				"spec: {template: {metadata: {labels: {d e: f}}}}}",
			nil,
			[]string{"metadata.labels: Invalid value", "spec.template.metadata.labels: Invalid value"},
		},
		{
			"accepts what looks like a pod template in a type that is not built in",
			"{apiVersion: example.com/v1, kind: Deployment, metadata: {name: a}, " +
				"spec: {template: {metadata: {labels: {d e: f}}}}}", nil, nil,
		},
		{
			"suspects annotations that are too large",
			configMap("name: a, annotations: {a: "+strings.Repeat("x", 256<<10)+"}", ""), nil,
			[]string{"metadata.annotations: Too long"},
		},
		{
			"suspects the keys of data", configMap("name: a", ", data: {a/b: c}, binaryData: {d e: Zg==}"), nil,
			[]string{"data[a/b]", "binaryData[d e]"},
		},
		{
			"suspects data that is too large", configMap("name: a", ", data: {a: "+strings.Repeat("x", 1<<20+1)+"}"), nil,
			[]string{"data: Too long"},
		},
		{
			"suspects an object that is too large",
			"{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: [" + strings.Repeat("x", 3<<19+1) + "]}", nil,
			[]string{"it is larger than 1572864 bytes"},
		},
		{
			"suspects a quantity that cannot be decoded",
			"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {resources: {requests: " +
				"{storage: 10 GB}}}}",
			nil,
			[]string{"a value cannot be decoded: quantities must match"},
		},
		{
			"suspects bytes that are not encoded", configMap("name: a", ", binaryData: {a: '%%%'}"), nil,
			[]string{"a value cannot be decoded: illegal base64 data"},
		},
		{
			"suspects a time in another form",
			"{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a}, spec: {renewTime: now}}",
			nil,
			[]string{"a value cannot be decoded: parsing time"},
		},
		{
			"refuses a version that the definition in the set does not serve",
			"{apiVersion: example.com/v2, kind: Widget, metadata: {name: a}}",
			func(s *validate.Subject) { s.Unserved = true },
			[]string{"apiVersion: the definition of Widget.example.com, which is applied with it, does not serve the version " +
				"v2 (certain)"},
		},
		{
			"suspects a changed field that cannot change", configMap("name: a", ""),
			func(s *validate.Subject) { s.Exists, s.Recorded, s.Object.Immutable = true, 1, 2 },
			[]string{"a field that cannot change has another value"},
		},
		{
			"does not judge the fields of an object that an older version wrote", configMap("name: a", ""),
			func(s *validate.Subject) { s.Exists, s.Object.Immutable = true, 2 }, nil,
		},
		{
			"refuses each fault of an object whose type is defined with it", configMap("name: Bad", ""),
			func(s *validate.Subject) { s.Defined = true },
			[]string{"(certain)"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := subject(t, c.text)
			if c.edit != nil {
				c.edit(&s)
			}
			faults, _ := validate.Check(s)
			got := texts(faults)
			lines := slices.DeleteFunc(strings.Split(got, "\n"), func(line string) bool { return line == "" })
			if len(lines) != len(c.want) {
				t.Fatalf("the faults are\n%s\nwant %q", got, c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("the fault %d is %s, want %s", i, lines[i], want)
				}
			}
		})
	}
}

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
    - name: v2
    - name: v1
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                colour: {type: string, enum: [red, blue]}
                count: {type: integer}
                port: {x-kubernetes-int-or-string: true}
                free: {type: object, x-kubernetes-preserve-unknown-fields: true}
                labels: {type: object, minProperties: 1, additionalProperties: {type: string}}
                pod: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}
                list:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [name]
                  items: {type: object, required: [name], properties: {name: {type: string}}}
`

func TestDefinition(t *testing.T) {
	crd := subject(t, definition).Object.Body
	types, err := validate.Definition(crd, "v1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, spec, want string }{
		{
			"accepts declared fields",
			"{colour: red, port: 1, free: {a: [1]}, labels: {a: b}, pod: {apiVersion: v1, kind: Pod, metadata: {a: b}}, list: " +
				"[{name: a}]}", "",
		},
		{"accepts a number or a text for int-or-string", "{port: http}", ""},
		{"accepts null", "{colour: null}", ""},
		{"refuses a field that is not declared", "{color: red}", "spec.color: field not declared in schema"},
		{"refuses a value of another type, without its value", "{colour: 5}", "spec.colour: expected string"},
		{"refuses a field of an embedded object", "{pod: {specs: {}}}", "spec.pod.specs: field not declared in schema"},
		{"refuses a value of another type in a map", "{labels: {a: 1}}", "spec.labels.a: expected string"},
		{
			"refuses all unknown fields of a map", "{color: red, size: 1, labels: {a: 1}, pod: {specs: {}}}",
			"spec.color: field not declared in schema\nspec.labels.a: expected string\n" +
				"spec.pod.specs: field not declared in schema\nspec.size: field not declared in schema",
		},
		{
			"refuses a field of an item whose key has special characters", `{list: [{name: 'a.b]"[c', x: 1}, {name: b, z: 2}]}`,
			`spec.list[name="a.b]\"[c"].x: field not declared in schema` + "\n" +
				`spec.list[name="b"].z: field not declared in schema`,
		},
		{"refuses duplicate items", "{list: [{name: a}, {name: a}]}", `spec.list: duplicate entries for key [name="a"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := subject(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: "+c.spec+"}")
			s.Types = types
			faults, dropped := validate.Check(s)
			if got := texts(faults); got != c.want || len(dropped) > 0 {
				t.Errorf("the faults are %q, want %q; %v are dropped", got, c.want, dropped)
			}
		})
	}
	if types, err := validate.Definition(crd, "v2"); types != nil || err != nil {
		t.Errorf("a version without a schema has the schema %v, %v", types, err)
	}
	dropping := subject(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, "+
		"spec: {color: red, colour: 5, free: {a: 1}, list: [{name: a}, {name: a}]}}")
	dropping.Types, dropping.DropsUnknown = types, true
	faults, dropped := validate.Check(dropping)
	if got := texts(faults); got != "spec.colour: expected string" || !slices.Equal(dropped, []string{"spec.color"}) {
		t.Errorf("an update without server-side apply has the faults %q and drops %q", got, dropped)
	}
}

func TestSetAcceptsNamesOfUnknownTypes(t *testing.T) {
	for _, c := range []struct {
		text    string
		invalid int
	}{
		{"{apiVersion: image.openshift.io/v1, kind: ImageStreamTag, metadata: {name: \"app:latest\"}}", 0},
		{"{apiVersion: image.openshift.io/v1, kind: ImageStreamTag, metadata: {name: app/latest}}", 1},
		{"{apiVersion: v1, kind: ConfigMap, metadata: {name: \"app:latest\"}}", 1},
	} {
		invalid, err := validate.Set([]manifests.Object{subject(t, c.text).Object}, nil)
		if err != nil || len(invalid) != c.invalid {
			t.Errorf("%s: %d invalid objects, want %d (%v)", c.text, len(invalid), c.invalid, err)
		}
	}
}

func TestFieldsBesideHolesAreChecked(t *testing.T) {
	const root = "        openAPIV3Schema:\n"
	rules := `          x-kubernetes-validations: [{rule: "!has(self.spec.labels) || 'a.b' in self.spec.labels"}]` + "\n"
	crd := subject(t, strings.Replace(definition, root, root+rules, 1)).Object.Body
	types, err := validate.Definition(crd, "v1")
	if err != nil {
		t.Fatal(err)
	}
	check, err := validate.DefinitionValues(crd, "v1")
	if err != nil {
		t.Fatal(err)
	}
	binding, err := settingtext.Parse("a.example.com", map[string]string{"a.example.com/bind": "true"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, spec, want string }{
		{"accepts a hole where a number is needed", "{count: '${{ v }}'}", ""},
		{"refuses another field", "{count: '${{ v }}', color: red}", "spec.color: field not declared in schema"},
		{"refuses another value", "{count: '${{ v }}', colour: purple}", "spec.colour: should be one of red, blue"},
		{"accepts a hole in a required field", "{list: [{name: '${{ v }}'}]}", ""},
		{"leaves a list out whose key has a hole", "{list: [{name: '${{ v }}', x: 1}]}", ""},
		{"leaves rules out, which may read a hole", "{labels: {'a.b': '${{ v }}', c: d}}", ""},
		{"accepts holes that are the only entries of a map", "{labels: {a.b: '${{ v }}'}}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := subject(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: "+c.spec+"}")
			s.Types, s.Values, s.Object.Settings = types, check, binding
			faults, _ := validate.CheckRest(s)
			if got := texts(faults); got != c.want {
				t.Errorf("the faults are %q, want %q", got, c.want)
			}
		})
	}
}
