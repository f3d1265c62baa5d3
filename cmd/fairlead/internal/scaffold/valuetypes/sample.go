package valuetypes

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// secretNames matches the names of values that may be secret, and must not appear in a sample.
var secretNames = regexp.MustCompile(`(?i)(password|secret|token|key)`)

// sampleOf returns the value of a field in the sample. The sample contains required fields, and scalars that have a
// default in the chart.
func sampleOf(f field) (any, bool) {
	if f.required {
		return example(f.of), true
	}
	if !f.of.isScalar() || f.fallback == "" || f.fallback == `""` || secretNames.MatchString(f.key) {
		return nil, false
	}
	var value any
	if err := yaml.Unmarshal([]byte(f.fallback), &value); err != nil {
		return nil, false
	}
	text, isText := value.(string)
	return value, !isText || !strings.Contains(text, "\n")
}

// demands returns examples of the values that templates demand with the function required, and that have no default in
// the chart. t is the type of all values.
func (u usage) demands(t *valueType) map[string]any {
	examples := map[string]any{}
	for _, path := range slices.Sorted(maps.Keys(u.demanded)) {
		if path != "" && !path.inElement() {
			demand(examples, t, strings.Split(string(path), separator))
		}
	}
	return examples
}

// demand adds an example of the value at a path to the examples.
func demand(examples map[string]any, t *valueType, path []string) {
	of, hasDefault := free(), false
	for _, f := range t.fields {
		if f.key == path[0] {
			of, hasDefault = f.of, f.of.isScalar() && f.fallback != "" && f.fallback != `""`
		}
	}
	if len(path) == 1 {
		if !hasDefault {
			examples[path[0]] = example(of)
		}
		return
	}
	below, ok := examples[path[0]].(map[string]any)
	if !ok {
		below = map[string]any{}
	}
	if demand(below, of, path[1:]); len(below) > 0 {
		examples[path[0]] = below
	}
}

// example returns an allowed value of a type, or nil if no such value can be derived easily.
func example(t *valueType) any {
	if value, ok := allowed(t.markers); ok {
		return value
	}
	switch t.shape {
	case shapeString, shapeFree:
		return "example"
	case shapeBoolean:
		return false
	case shapeInteger, shapeNumber, shapeIntOrString:
		return 1
	case shapeList:
		return []any{example(t.element)}
	case shapeMap, shapeFreeObject, shapeStruct:
	}
	sample := map[string]any{}
	for _, f := range t.fields {
		if f.required {
			sample[f.key] = example(f.of)
		}
	}
	return sample
}

// allowed returns the first enumerated value in the markers, or the minimum.
func allowed(markers []string) (value any, ok bool) {
	for _, marker := range markers {
		for _, prefix := range []string{"kubebuilder:validation:Enum=", "kubebuilder:validation:Minimum="} {
			rest, found := strings.CutPrefix(marker, prefix)
			first, _, _ := strings.Cut(rest, ";")
			if found && yaml.Unmarshal([]byte(first), &value) == nil {
				return value, true
			}
		}
	}
	return nil, false
}
