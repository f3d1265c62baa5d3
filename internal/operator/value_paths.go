package operator

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// leaf is a scalar, or an empty map or list, in a tree of values. Its place is the path to the value, which consists of
// keys of maps and indexes of list items.
type leaf struct {
	place []any
	value any
}

// String returns the place as a path, such as sizes[0].
func (l leaf) String() string {
	var text strings.Builder
	for i, step := range l.place {
		switch s := step.(type) {
		case int:
			fmt.Fprintf(&text, "[%d]", s)
		case string:
			if i > 0 {
				text.WriteString(".")
			}
			text.WriteString(strings.ReplaceAll(s, ".", `\.`))
		}
	}
	return text.String()
}

// leavesOf returns all leaves, sorted.
func leavesOf(values map[string]any) []leaf {
	var leaves []leaf
	var walk func(place []any, value any)
	walk = func(place []any, value any) {
		switch v := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(append(slices.Clone(place), key), v[key])
			}
			if len(v) > 0 {
				return
			}
		case []any:
			for i, item := range v {
				walk(append(slices.Clone(place), i), item)
			}
			if len(v) > 0 {
				return
			}
		}
		if len(place) > 0 {
			leaves = append(leaves, leaf{place, value})
		}
	}
	walk(nil, values)
	return leaves
}

// sortByLikelihood moves leaves to the front whose value occurs in want, because these leaves most likely affect want.
func sortByLikelihood(leaves []leaf, want any) {
	text := fmt.Sprint(want)
	rank := func(l leaf) int {
		if own := fmt.Sprint(l.value); own != "" && strings.Contains(text, own) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(leaves, func(a, b leaf) int { return rank(a) - rank(b) })
}

// changedIn returns a copy of values in which the leaf has another value of the same type.
func (l leaf) changedIn(values map[string]any) map[string]any {
	changed, _ := replaced(values, l.place, other(l.value)).(map[string]any)
	return changed
}

func replaced(value any, place []any, by any) any {
	if len(place) == 0 {
		return by
	}
	switch v := value.(type) {
	case map[string]any:
		if key, ok := place[0].(string); ok {
			copied := maps.Clone(v)
			copied[key] = replaced(v[key], place[1:], by)
			return copied
		}
	case []any:
		if i, ok := place[0].(int); ok && i < len(v) {
			copied := slices.Clone(v)
			copied[i] = replaced(v[i], place[1:], by)
			return copied
		}
	}
	return value
}

// other returns a value that differs from the given one and has the same type.
func other(value any) any {
	const text = "traced"
	switch v := value.(type) {
	case string:
		return v + text
	case bool:
		return !v
	case int64:
		return v + 1
	case float64:
		return v + 1
	case map[string]any:
		return map[string]any{text: text}
	case []any:
		return []any{text}
	}
	return text
}

// visibleValues returns the values that templates read: the default values of the chart, overridden by the values of
// the Component and of its inputs. Defaults of sub-charts are left out.
func (t tracing) visibleValues() (map[string]any, error) {
	given, err := valuesOf(t.component, t.request.References, t.inputs, nil)
	if err != nil {
		return nil, err
	}
	defaults, err := t.chartDefaults()
	if err != nil {
		return nil, err
	}
	return merge(defaults, given), nil
}

// chartDefaults returns the default values of a chart, or nil if the source is not a chart.
func (t tracing) chartDefaults() (map[string]any, error) {
	found, err := newArchiveCache().folderFor(t.component, t.request.References, t.request.Source)
	if err != nil {
		return nil, err
	}
	if engine, err := engineName(t.component, found); err != nil || engine != generator.EngineHelm {
		return nil, err
	}
	text, err := fs.ReadFile(found.files, defaultValuesKey)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	values, _, err := parseValues(text)
	return values, err
}

// setIn returns the name of the place where a value is set. If several places set the value, it returns the place with
// the highest precedence.
func (t tracing) setIn(l leaf) string {
	if own, err := t.component.GetParameters(); err == nil && has(own, l.place) {
		return "spec.values"
	}
	for i, input := range t.component.Spec.Inputs {
		if has(t.inputs, l.place) && isBelow(l.place, input.Place()) {
			return placeOfInput(i, input.Name)
		}
	}
	for i, from := range slices.Backward(t.component.Spec.ValuesFrom) {
		if values, _, err := valuesFrom(from, t.component.Namespace, t.request.References); err == nil && has(values, l.place) {
			place := fmt.Sprintf("spec.valuesFrom[%d], %s %s", i, from.Kind, from.Name)
			if from.Export != "" {
				place += ", export " + from.Export
			}
			return place
		}
	}
	return "the chart's " + defaultValuesKey
}

// isBelow reports whether a place is the place of an input, or below it.
func isBelow(place []any, input []string) bool {
	if len(place) < len(input) {
		return false
	}
	for i, name := range input {
		if place[i] != name {
			return false
		}
	}
	return true
}

func has(value any, place []any) bool {
	for _, step := range place {
		switch v := value.(type) {
		case map[string]any:
			key, _ := step.(string)
			below, ok := v[key]
			if !ok {
				return false
			}
			value = below
		case []any:
			i, _ := step.(int)
			if i >= len(v) {
				return false
			}
			value = v[i]
		default:
			return false
		}
	}
	return true
}
