package values_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/validate/values"
)

// definition is a schema with a field for each rule about values.
const definition = `
type: object
properties:
  spec:
    type: object
    required: [name, mode]
    properties:
      name: {type: string, minLength: 2, maxLength: 4, pattern: '^[a-z]+$'}
      mode: {type: string, default: fast, enum: [fast, slow]}
      count: {type: integer, minimum: 1, maximum: 5}
      above: {type: number, minimum: 0, exclusiveMinimum: true, multipleOf: 0.5}
      items: {type: array, minItems: 1, maxItems: 2, items: {type: string}}
      labels: {type: object, maxProperties: 1, additionalProperties: {type: string}}
      empty: {type: string, nullable: true}
      port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true}
      pod: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
      inner: {type: object, required: [a], properties: {a: {type: string}, b: {type: object, default: {}, required: [c], properties: {c: {type: string, default: d}}}}}
      one: {type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}
      not: {type: object, properties: {a: {type: string}}, not: {required: [a]}}
      both: {type: string, allOf: [{maxLength: 3}, {minLength: 3}]}
      time: {type: string, format: date-time}
      address: {type: string, format: ipv4}
      unknown: {type: string, format: k8s-short-name}
      small: {type: integer, format: int32}
`

func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func texts(faults []values.Fault) string {
	lines := make([]string, 0, len(faults))
	for _, f := range faults {
		lines = append(lines, f.Field+": "+f.Message)
	}
	return strings.Join(lines, "\n")
}

func TestCustomTypes(t *testing.T) {
	defined, err := values.Defined(decode(t, definition))
	if err != nil {
		t.Fatal(err)
	}
	model, err := yaml.YAMLToJSON([]byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := values.Pack(model)
	if err != nil {
		t.Fatal(err)
	}
	served, err := packed.Unpack()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, spec, want string }{
		{"accepts a required field with a default", "{name: abc}", ""},
		{"refuses a missing field", "{mode: fast}", "spec.name: is required"},
		{"refuses a value outside an enumeration", "{name: abc, mode: idle}", "spec.mode: should be one of fast, slow"},
		{"refuses a text that is too short", "{name: a}", "spec.name: should be at least 2 chars long"},
		{"refuses a text that is too long", "{name: abcde}", "spec.name: should be at most 4 chars long"},
		{"refuses a text that a pattern does not match", "{name: ABC}", "spec.name: should match '^[a-z]+$'"},
		{"refuses a number that is too small", "{name: abc, count: 0}", "spec.count: should be greater than or equal to 1"},
		{"refuses a number that is too large", "{name: abc, count: 6}", "spec.count: should be less than or equal to 5"},
		{"refuses a fraction as an integer", "{name: abc, count: 1.5}", "spec.count: must be of type integer"},
		{"refuses the minimum if it is exclusive", "{name: abc, above: 0}", "spec.above: should be greater than 0"},
		{"refuses a number that is no multiple", "{name: abc, above: 0.7}", "spec.above: should be a multiple of 0.5"},
		{"refuses a list without items", "{name: abc, items: []}", "spec.items: should have at least 1 items"},
		{"refuses a list with too many items", "{name: abc, items: [a, b, c]}", "spec.items: should have at most 2 items"},
		{"refuses too many properties", "{name: abc, labels: {a: b, c: d}}", "spec.labels: should have at most 1 properties"},
		{"accepts null where it is a value", "{name: abc, empty: null}", ""},
		{"drops null where it is no value", "{name: abc, count: null, inner: null, free: null, labels: {a: null}}", ""},
		{"replaces null by a default", "{name: abc, mode: null}", ""},
		{"refuses a required field that is null", "{name: null}", "spec.name: is required"},
		{"refuses null in a list", "{name: abc, items: [null]}", "spec.items[0]: must be of type string"},
		{"accepts a number or a text", "{name: abc, port: http}", ""},
		{"accepts a number for a text or a number", "{name: abc, port: 80}", ""},
		{
			"refuses a truth value as a number or a text", "{name: abc, port: true}",
			"spec.port: must be of type integer\nspec.port: must be of type integer,string\n" +
				"spec.port: must validate at least one schema (anyOf)",
		},
		{"accepts anything where unknown fields are kept", "{name: abc, free: {a: [1, {b: null}]}}", ""},
		{
			"accepts an embedded object", "{name: abc, pod: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {a: 1}}}",
			"",
		},
		{"refuses an embedded object without a kind", "{name: abc, pod: {apiVersion: v1}}", "spec.pod.kind: is required"},
		{"refuses a missing field of an inner object", "{name: abc, inner: {}}", "spec.inner.a: is required"},
		{"accepts defaults in defaults", "{name: abc, inner: {a: b, b: {}}}", ""},
		{"accepts one of two", "{name: abc, one: {a: x}}", ""},
		{
			"refuses both of two", "{name: abc, one: {a: x, b: z}}",
			"spec.one: must validate one and only one schema (oneOf). Found 2 valid alternatives",
		},
		{"refuses what must not be", "{name: abc, not: {a: x}}", "spec.not: must not validate the schema (not)"},
		{
			"refuses a value that misses one of all rules", "{name: abc, both: ab}",
			"spec.both: must validate all the schemas (allOf)\nspec.both: should be at least 3 chars long",
		},
		{"refuses a time in another format", "{name: abc, time: now}", "spec.time: must be of type date-time"},
		{"refuses no address", "{name: abc, address: 1.2.3}", "spec.address: must be of type ipv4"},
		{"ignores a format that older API servers ignore", "{name: abc, unknown: Not_Valid}", ""},
		{"leaves unknown fields to the comparison of fields", "{name: abc, other: 1}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			object := decode(t, "spec: "+c.spec)
			if got := texts(defined.Faults(object)); got != c.want {
				t.Errorf("the faults are\n%s\nwant\n%s", got, c.want)
			}
			if got := texts(served.Faults(object)); got != c.want {
				t.Errorf("the faults with the schema of an API server are\n%s\nwant\n%s", got, c.want)
			}
		})
	}
	large := decode(t, "spec: {name: abc, small: 5000000000}")
	if got := texts(defined.Faults(large)); got != "" {
		t.Errorf("a rule that older API servers do not know refuses a type of the set: %s", got)
	}
	if got := texts(served.Faults(large)); got != "spec.small: must be of type integer with format int32" {
		t.Errorf("the faults of a number that is too large for its format are %q", got)
	}
}

func TestInvalidSchemasHaveNoCheck(t *testing.T) {
	for _, text := range []string{
		"{type: 5}", "{type: object, properties: {a: {$ref: '#/definitions/a'}}}",
	} {
		if check, err := values.Defined(decode(t, text)); err == nil {
			t.Errorf("%s has the check %v", text, check)
		}
	}
}

// models are models as in the document of an API server.
func models(t *testing.T) map[string]*spec.Schema {
	t.Helper()
	const text = `
io.k8s.api.apps.v1.Deployment:
  properties:
    metadata: {allOf: [{$ref: '#/components/schemas/meta'}], default: {}}
    spec: {allOf: [{$ref: '#/components/schemas/spec'}], default: {}}
    status: {allOf: [{$ref: '#/components/schemas/status'}], default: {}}
meta: {required: [never], properties: {never: {type: string}}}
status: {required: [never], properties: {never: {type: string}}}
spec:
  required: [selector, template, optionalStruct, paused, mode, count, limits]
  properties:
    selector: {allOf: [{$ref: '#/components/schemas/selector'}]}
    template: {allOf: [{$ref: '#/components/schemas/template'}], default: {}}
    optionalStruct: {allOf: [{$ref: '#/components/schemas/selector'}], default: {}}
    paused: {type: boolean, default: false}
    mode: {type: string, default: fast, enum: [fast, slow]}
    count: {type: integer, default: 0}
    limits: {type: object, additionalProperties: {type: string}}
selector: {properties: {matchLabels: {type: object, additionalProperties: {type: string}}}}
template:
  required: [containers]
  properties:
    containers: {type: array, items: {allOf: [{$ref: '#/components/schemas/container'}], default: {}}}
container:
  required: [name]
  properties:
    name: {type: string, default: ''}
    pull: {type: string, enum: [Always, Never]}
    again: {allOf: [{$ref: '#/components/schemas/container'}]}
    probe: {allOf: [{$ref: '#/components/schemas/io.k8s.api.core.v1.HTTPHeader'}]}
io.k8s.api.core.v1.HTTPHeader: {required: [name, value], properties: {name: {type: string, default: ''}, value: {type: string, default: ''}}}
`
	found := map[string]*spec.Schema{}
	if err := yaml.Unmarshal([]byte(text), &found); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestBuiltInTypes(t *testing.T) {
	deployments := values.BuiltIn(models(t), "io.k8s.api.apps.v1.Deployment")
	const rest = "selector: {}, template: {containers: [{name: a}]}, count: 1"
	for _, c := range []struct{ name, spec, want string }{
		{"accepts what the API server fills", "{" + rest + "}", ""},
		{
			"suspects a missing field without a default", "{template: {containers: []}, count: 1}",
			"spec.selector: is required",
		},
		{
			"suspects null, which is no value", "{selector: null, template: {containers: [{name: a}]}, count: 1}",
			"spec.selector: is required",
		},
		{"suspects a missing struct with a required field", "{selector: {}, count: 1}", "spec.template: is required"},
		{
			"suspects a missing field of a struct", "{selector: {}, template: {}, count: 1}",
			"spec.template.containers: is required",
		},
		{
			"suspects a missing text", "{selector: {}, template: {containers: [{}]}, count: 1}",
			"spec.template.containers[0].name: is required",
		},
		{"suspects a missing number", "{selector: {}, template: {containers: []}}", "spec.count: is required"},
		{
			"suspects a value outside an enumeration",
			"{selector: {}, template: {containers: [{name: a, pull: Often}]}, count: 1}",
			"spec.template.containers[0].pull: should be one of Always, Never",
		},
		{
			"accepts an empty text for an enumeration",
			"{selector: {}, template: {containers: [{name: a, pull: ''}]}, count: 1}", "",
		},
		{"accepts null for an enumeration", "{selector: {}, template: {containers: [{name: a, pull: null}]}, count: 1}", ""},
		{
			"accepts a field that the API server does not need",
			"{selector: {}, template: {containers: [{name: a, probe: {name: b}}]}, count: 1}", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := texts(deployments.Faults(decode(t, "spec: "+c.spec))); got != c.want {
				t.Errorf("the faults are\n%s\nwant\n%s", got, c.want)
			}
		})
	}
	if check := values.BuiltIn(models(t), "selector"); check != nil {
		t.Errorf("a type without constraints has the check %v", check)
	}
}

func TestTransitionsAreTheRulesThatSeeThePreviousObject(t *testing.T) {
	schema := map[string]any{
		"type": "object",
		"x-kubernetes-validations": []any{
			map[string]any{"rule": "self.spec == oldSelf.spec", "messageExpression": "'no'"},
			map[string]any{"rule": "self.spec == oldSelf.spec || oldSelf.status.paused", "message": "pause it"},
		},
		"properties": map[string]any{"spec": map[string]any{
			"type": "object",
			"properties": map[string]any{
				"size": map[string]any{
					"type": "integer",
					"x-kubernetes-validations": []any{
						map[string]any{"rule": "self > 0"}, map[string]any{"rule": " self >= oldSelf "},
					},
				},
				"parts": map[string]any{"type": "array", "items": map[string]any{
					"type": "object", "additionalProperties": map[string]any{
						"type": "string",
						"x-kubernetes-validations": []any{
							map[string]any{"rule": "!oldSelf.hasValue()", "optionalOldSelf": true, "message": "new"},
						},
					},
				}},
			},
		}},
	}
	checked, err := values.Defined(schema)
	if err != nil {
		t.Fatal(err)
	}
	want := []values.Transition{
		{},
		{Message: "pause it", ReadsStatus: true},
		{Path: "spec.parts[][]", Message: "new", Creates: true},
		{Path: "spec.size", Message: "failed rule: self >= oldSelf"},
	}
	if got := checked.Transitions(); !slices.Equal(got, want) {
		t.Errorf("the rules are %+v, want %+v", got, want)
	}
	for _, c := range []struct {
		name           string
		rule           int
		field, message string
		want           bool
	}{
		{"the field of the rule", 3, "spec.size", "Invalid value: 1: failed rule: self >= oldSelf", true},
		{"another message", 3, "spec.size", "Invalid value: 1: failed rule: self > 0", false},
		{"a field with a longer name", 3, "spec.sizes", "failed rule: self >= oldSelf", false},
		{"another field", 3, "spec.parts", "failed rule: self >= oldSelf", false},
		{"an item of a list and of a map", 2, "spec.parts[3][a.b]", "new", true},
		{"a field below that of the rule", 2, "spec.parts[3][a.b].c", "new", true},
		{"a rule whose message is not known", 0, "spec", "no", false},
	} {
		cause := metav1.StatusCause{Field: c.field, Message: c.message}
		if got := want[c.rule].Refuses(cause); got != c.want {
			t.Errorf("%s: the rule refuses it: %t, want %t", c.name, got, c.want)
		}
	}
}
