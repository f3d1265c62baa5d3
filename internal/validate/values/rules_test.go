package values_test

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/validate/values"
)

// ruled is a schema with validation rules. The rules of old compare an object with its previous version.
const ruled = `
type: object
x-kubernetes-validations:
  - {rule: "self.metadata.name.size() < 6", message: the name is too long}
  - {rule: "!has(self.spec.one) || has(self.status) && self.status.paused", message: earlier objects of a set may pause it}
properties:
  status: {type: object, properties: {paused: {type: boolean}}}
  spec:
    type: object
    x-kubernetes-validations:
      - {rule: "!has(self.min) || self.min < self.max", message: min is below max}
      - {rule: "!has(self.one) || self.one == 'a'", messageExpression: "'not ' + self.one", fieldPath: .one}
      - {rule: "self.new.unknownFunction()", message: newer API servers know the function}
      - {rule: "!has(self.slow) || self.slow.all(a, self.slow.all(b, self.slow.all(c, a + b + c != 'x')))", message: slow}
    properties:
      min: {type: integer}
      max: {type: integer, default: 5}
      one: {type: string}
      rate: {type: number}
      port: {x-kubernetes-int-or-string: true, x-kubernetes-validations: [{rule: "type(self) == string || self > 0"}]}
      slow: {type: array, items: {type: string}}
      map: {type: object, additionalProperties: {type: object, properties: {size: {type: integer}}, x-kubernetes-validations: [{rule: "self.size > 0"}]}}
      all: {type: string, allOf: [{maxLength: 9, x-kubernetes-validations: [{rule: "self != 'z'"}, {rule: self == oldSelf}]}]}
      old: {type: string, x-kubernetes-validations: [{rule: "oldSelf.hasValue() && self == 'a'", optionalOldSelf: true}]}
`

// checks returns the checks of a schema: of a type that a set defines, and of one that an API server serves.
func checks(t testing.TB, schema string) map[string]*values.Type {
	t.Helper()
	defined, err := values.Defined(decode(t, schema))
	if err != nil {
		t.Fatal(err)
	}
	model, err := yaml.YAMLToJSON([]byte(schema))
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
	return map[string]*values.Type{"defined": defined, "served": served}
}

func TestRulesOfCustomTypes(t *testing.T) {
	for where, check := range checks(t, ruled) {
		if got := check.Transitions(); len(got) != 2 || got[0].Path != "spec.all" || got[1].Path != "spec.old" {
			t.Errorf("the rules about the previous version are %+v", got)
		}
		for _, c := range []struct{ name, object, want string }{
			{"accepts an object that no rule refuses", "spec: {min: 1}", ""},
			{"counts defaults", "spec: {min: 5}", "spec: min is below max"},
			{"refuses a name", "{metadata: {name: a-long-name}, spec: {}}", ": the name is too long"},
			{"computes a message and has the path of the rule", "spec: {one: b}", "spec.one: not b"},
			{"judges items", "spec: {map: {x: {size: 1}, z: {size: 0}}}", "spec.map[z]: failed rule: self.size > 0"},
			{"judges alternatives", "spec: {all: z}", "spec.all: failed rule: self != 'z'"},
			{
				"refuses a rule that cannot be evaluated", "spec: {map: {x: {}}}",
				"spec.map[x]: no such key: size evaluating rule: self.size > 0",
			},
			{"reads a whole number as the API server does", "spec: {min: 1.0, rate: 1, port: 1.0}", ""},
			{
				"leaves rules to the API server if a value is invalid", "spec: {min: a, one: b}",
				"spec.min: must be of type integer",
			},
			{"leaves rules about the previous version to the API server", "spec: {old: b}", ""},
			{"has no fault if the rules cost too much", "spec: {one: b, slow: [" + strings.Repeat("a,", 500) + "a]}", ""},
		} {
			t.Run(where+" "+c.name, func(t *testing.T) {
				object := decode(t, "metadata: {name: short}\n")
				maps.Copy(object, decode(t, c.object))
				if got := texts(check.Faults(object)); got != c.want {
					t.Errorf("the faults are\n%s\nwant\n%s", got, c.want)
				}
				if got := texts(check.WithoutRules().Faults(object)); got != "" && got != "spec.min: must be of type integer" {
					t.Errorf("the check without rules has the faults\n%s", got)
				}
			})
		}
	}
}

// BenchmarkRules measures the compilation of 30 rules. The memory of a compiled check is reported as held-KiB.
func BenchmarkRules(b *testing.B) {
	var text strings.Builder
	text.WriteString("{type: object, properties: {spec: {type: object, properties: {")
	for i := range 30 {
		fmt.Fprintf(&text,
			`f%d: {type: object, properties: {min: {type: integer}, max: {type: integer}, names: {type: array, maxItems: 20, `+
				`items: {type: string, maxLength: 20}}}, x-kubernetes-validations: [{rule: "!has(self.min) || !has(self.max) || `+
				`self.min < self.max && self.names.all(n, n.matches('^[a-z]+$'))", message: m}]},`, i)
	}
	text.WriteString("}}}}")
	schema, object := text.String(), decode(b, "spec: {f0: {min: 1, max: 2, names: [a]}}")
	b.ReportAllocs()
	var held []*values.Type
	before := heap()
	for b.Loop() {
		check := checks(b, schema)["served"]
		if faults := check.Faults(object); len(faults) > 0 {
			b.Fatal(faults)
		}
		held = append(held, check)
	}
	b.ReportMetric(float64(heap()-before)/float64(len(held))/1024, "held-KiB/op")
}

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
