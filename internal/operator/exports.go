package operator

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// exportedValue returns the values that an entry of spec.valuesFrom reads from another component: one value at its
// path, with the type that the component exports.
func exportedValue(
	from metav1alpha1.ValuesReference, reference generator.Reference, references generator.References,
) (map[string]any, error) {
	data, found := references[reference][from.Export]
	switch {
	case !found && from.Optional:
		return nil, nil
	case !found:
		return nil, fmt.Errorf("%s has published no export %s", describe(reference), from.Export)
	}
	if _, err := bounded.JSON(data, bounded.Limits{}); err != nil {
		return nil, fmt.Errorf("%s, export %s: %w", describe(reference), from.Export, err)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, fmt.Errorf("%s, export %s: %w", describe(reference), from.Export, err)
	}
	path := from.Path
	if path == "" {
		path = from.Export
	}
	return valueAt(splitPath(path), value), nil
}

// valueAt returns values in which the only value is at a path, which must not be empty.
func valueAt(path []string, value any) map[string]any {
	if len(path) == 1 {
		return map[string]any{path[0]: value}
	}
	return map[string]any{path[0]: valueAt(path[1:], value)}
}

// splitPath splits a path at its dots. After a backslash, a dot belongs to a key. The result is never empty.
func splitPath(path string) []string {
	var keys []string
	var key strings.Builder
	escaped := false
	for _, r := range path {
		switch {
		case escaped:
			key.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped = true
		case r == '.':
			keys = append(keys, key.String())
			key.Reset()
		default:
			key.WriteRune(r)
		}
	}
	return append(keys, key.String())
}
