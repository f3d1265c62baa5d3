package valuetypes

import (
	"regexp"
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
