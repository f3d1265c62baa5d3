package changes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Path locates a field in an object. Its elements are names of fields, and names or indexes of items.
type Path []string

// ParsePath parses a path in the form that Fields returns, such as spec.containers[web].image or
// metadata.labels[example.com/team]. An item can also be selected by any of its fields, as in ports[containerPort=80].
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

// At returns the value of the field in an object, and whether the object has the field.
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

// itemAt returns the index of the item that step selects by name, index or field=value. It returns -1 if no item
// matches.
func itemAt(items []any, step string) int {
	with := func(name, text string) int {
		return slices.IndexFunc(items, func(item any) bool {
			fields, _ := item.(map[string]any)
			value, found := fields[name]
			return found && fmt.Sprint(value) == text
		})
	}
	if i := with("name", step); i >= 0 {
		return i
	}
	if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(items) {
		return i
	}
	if name, text, ok := strings.Cut(step, "="); ok {
		return with(name, text)
	}
	return -1
}

// In returns the path in the form that Fields returns: items are selected by name, or by index if they have no name.
func (p Path) In(obj *unstructured.Unstructured) string {
	var text strings.Builder
	var value any = obj.Object
	for _, step := range p {
		if items, isList := value.([]any); isList {
			text.WriteString("[" + nameOf(items, step) + "]")
		} else {
			text.WriteString(Step(step))
		}
		value, _ = below(value, step)
	}
	return strings.TrimPrefix(text.String(), ".")
}

// nameOf returns the name or index under which Fields would select the item that step selects.
func nameOf(items []any, step string) string {
	i := itemAt(items, step)
	if i < 0 {
		return step
	}
	if name := itemName(items[i], i); itemAt(items, name) == i {
		return name
	}
	return strconv.Itoa(i)
}
