package helm

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// doubling returns a schema whose definitions refer to the next definition twice.
func doubling(keyword string, levels int) string {
	var text strings.Builder
	text.WriteString(`{"$ref": "#/definitions/d0", "definitions": {`)
	for i := range levels {
		fmt.Fprintf(&text, `"d%d": {"%s": [{"$ref": "#/definitions/d%d"}, {"$ref": "#/definitions/d%d"}]},`, i,
			keyword, i+1, i+1)
	}
	fmt.Fprintf(&text, `"d%d": {"type": "string"}}}`, levels)
	return text.String()
}

// chain returns a schema with a chain of references.
func chain(length int) string {
	var text strings.Builder
	text.WriteString(`{"$ref": "#/definitions/d0", "definitions": {`)
	for i := range length {
		fmt.Fprintf(&text, `"d%d": {"$ref": "#/definitions/d%d"},`, i, i+1)
	}
	fmt.Fprintf(&text, `"d%d": {}}}`, length)
	return text.String()
}

func renderWithSchema(t *testing.T, schema string, values map[string]any) error {
	t.Helper()
	g, err := New(fstest.MapFS{
		"Chart.yaml":         {Data: []byte("apiVersion: v2\nname: a\nversion: 1.0.0\n")},
		"values.schema.json": {Data: []byte(schema)},
	}, Options{})
	if err != nil {
		return err
	}
	_, err = g.Generate(t.Context(), generator.Request{Name: "a", Parameters: values})
	return err
}

// Without limits, each of these schemas would exhaust the memory, the stack or the time of the operator.
func TestSchemasThatWouldHurtTheOperatorEnd(t *testing.T) {
	const (
		tooMuch  = "needs more than 500000 evaluations for these values"
		tooMany  = "more than 100000 maps, lists, values and keys"
		tooLarge = "compile to more than 200000 instructions"
	)
	manyPatterns := strings.TrimSuffix(strings.Repeat(`{"pattern": "(abcdefghij){1000}"},`, 40), ",")
	cases := map[string]struct {
		schema string
		values map[string]any
		want   string
	}{
		"branches that double":        {doubling("anyOf", 31), nil, tooMuch},
		"alternatives that double":    {doubling("oneOf", 31), nil, tooMuch},
		"requirements that double":    {doubling("allOf", 31), nil, tooMuch},
		"branches that double seldom": {doubling("anyOf", 10), nil, "values: got object, want string"},
		"a chain of references":       {chain(20_000), nil, "below more than 5000 other schemas"},
		"a short chain of references": {chain(500), nil, ""},
		"a schema that refers to itself": {
			`{"$ref": "#"}`, nil,
			"the schema # refers to itself for the same value, without end",
		},
		"a schema that refers to itself for other values": {
			`{"additionalProperties": {"$ref": "#"}}`, map[string]any{"a": map[string]any{"b": map[string]any{}}}, "",
		},
		"a schema that refers to itself twice, for each value": {
			`{"additionalProperties": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}`, nested(30), tooMuch,
		},
		"dynamic references that double": {
			`{"$schema": "https://json-schema.org/draft/2020-12/schema", "$dynamicAnchor": "x",
			 "additionalProperties": {"anyOf": [{"$dynamicRef": "#x"}, {"$dynamicRef": "#x"}]}}`, nested(30), tooMuch,
		},
		"dependencies that double": {
			strings.NewReplacer(`"anyOf": [`, `"dependentSchemas": {"a": `, `}, {"$ref"`, `}, "b": {"$ref"`, `}]}`, `}}}`).
				Replace(doubling("anyOf", 31)), map[string]any{"a": true, "b": true}, tooMuch,
		},
		"a schema with many nodes": {`{"enum": [` + strings.Repeat("{},", 100_000) + `1]}`, nil, tooMany},
		"a schema that is deep": {
			strings.Repeat(`{"not":`, 300) + "{}" + strings.Repeat("}", 300), nil,
			"nest more than 200 deep",
		},
		"a very deep schema": {strings.Repeat("[", 1_000_000), nil, "nest more than 200 deep"},
		"a large number":     {`{"minimum": 1e999999}`, nil, "the number 1e999999 has an exponent beyond 400"},
		"a small number":     {`{"minimum": 1E-999999}`, nil, "has an exponent beyond 400"},
		"a large pattern": {
			`{"pattern": "(` + strings.Repeat("a", 100) + `){1000}"}`, nil,
			"compiles to more than 50000 instructions",
		},
		"many patterns": {`{"anyOf": [` + manyPatterns + `]}`, nil, tooLarge},
		"many violations": {
			`{"additionalProperties": {"type": "string"}}`, numbered(150),
			"values: 50 more violations",
		},
		"a schema with a long enum": {
			`{"additionalProperties": {"enum": [` + strings.Repeat("1,", 40_000) + `1]}}`,
			numbered(300), tooMuch,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := renderWithSchema(t, c.schema, c.values)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("want %q, got %.1000v", c.want, err)
			}
		})
	}
}

// nested returns maps that nest.
func nested(depth int) map[string]any {
	values := map[string]any{}
	for range depth {
		values = map[string]any{"a": values}
	}
	return values
}

func numbered(count int) map[string]any {
	values := map[string]any{}
	for i := range count {
		values[fmt.Sprintf("k%d", i)] = int64(i)
	}
	return values
}

// For any schema and values, the validation must end without a panic or a stack overflow.
func FuzzSchema(f *testing.F) {
	for _, seed := range []string{
		doubling("anyOf", 3), chain(3), `{"$ref": "#"}`, `{"properties": {"a": {"type": "string", "pattern": "a{3}"}}}`,
		`{"items": [{}, {"$ref": "#"}], "additionalItems": false, "minimum": 1e9}`,
		`{"$dynamicAnchor": "x", "unevaluatedProperties": {"$dynamicRef": "#x"}, "propertyNames": {"maxLength": 3}}`,
	} {
		f.Add(seed)
	}
	fuzzing.Run(f, func(t *testing.T, schema string) {
		err := renderWithSchema(t, schema, map[string]any{"a": "b", "c": []any{int64(1), map[string]any{"a": nil}}})
		if err != nil && strings.Contains(err.Error(), "panicked") {
			t.Error(err)
		}
	})
}
