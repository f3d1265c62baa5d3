package changes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Path is the place of a field: names of fields, and names or numbers of items.
type Path []string

// ParsePath reads what Fields writes: spec.containers[web].image, or metadata.labels[example.com/team].
func ParsePath(text string) (Path, error) {
	var path Path
	rest := strings.TrimPrefix(text, ".")
	for rest != "" {
		var step string
		if inner, ok := strings.CutPrefix(rest, "["); ok {
			name, after, closed := strings.Cut(inner, "]")
			if !closed {
				return nil, fmt.Errorf("field %q: a bracket is not closed", text)
			}
			step, rest = strings.Trim(name, `"'`), after
		} else {
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			step, rest = rest[:end], rest[end:]
		}
		if step == "" {
			return nil, fmt.Errorf("field %q: want a path such as spec.containers[web].image", text)
		}
		path, rest = append(path, step), strings.TrimPrefix(rest, ".")
	}
	if len(path) == 0 {
		return nil, fmt.Errorf("field %q: want a path such as spec.containers[web].image", text)
	}
	return path, nil
}

// At returns the value of a field.
func (p Path) At(obj *unstructured.Unstructured) (any, bool) {
	if obj == nil {
		return nil, false
	}
	var value any = obj.Object
	for _, step := range p {
		var ok bool
		if value, ok = below(value, step); !ok {
			return nil, false
		}
	}
	return value, true
}

func below(value any, step string) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		child, ok := v[step]
		return child, ok
	case []any:
		i := itemAt(v, step)
		if i < 0 {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}

// itemAt finds an item by its name, or by its number; -1 where there is none.
func itemAt(items []any, step string) int {
	named := slices.IndexFunc(items, func(item any) bool {
		fields, _ := item.(map[string]any)
		return fields["name"] == step
	})
	if named >= 0 {
		return named
	}
	if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(items) {
		return i
	}
	return -1
}

// Join writes a path as ParsePath reads it.
func Join(p Path) string {
	var text strings.Builder
	for _, step := range p {
		text.WriteString(Step(step))
	}
	return strings.TrimPrefix(text.String(), ".")
}
