package fieldpath

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// Mask returns fields in the form of FieldsV1 without those that the paths select. A field that the API server does not
// divide stays if a path leads into it.
func Mask(fields map[string]any, paths []Path) map[string]any {
	for _, p := range paths {
		fields = mask(fields, p.steps)
	}
	return fields
}

func mask(fields map[string]any, steps []step) map[string]any {
	out := fields
	for element, node := range fields {
		if !steps[0].selectsElement(element) {
			continue
		}
		below, _ := node.(map[string]any)
		var rest map[string]any
		if len(steps) > 1 {
			if rest = mask(below, steps[1:]); len(rest) == len(below) && len(rest) == 0 {
				continue
			}
		}
		if len(out) == len(fields) {
			out = maps.Clone(out)
		}
		if len(rest) == 0 {
			delete(out, element)
		} else {
			out[element] = rest
		}
	}
	return out
}

// selectsElement reports whether a step selects an element of FieldsV1.
func (s step) selectsElement(element string) bool {
	name, isField := strings.CutPrefix(element, "f:")
	switch {
	case s.all:
		return element != "."
	case isField:
		return s.name != "" && s.name == name
	case s.name != "" && !s.bracket:
		return false
	}
	keys := keysOf(element)
	if keys == nil {
		return false
	}
	for key, want := range s.keys() {
		got, ok := keys[key]
		if !ok || scalar(got) != want {
			return false
		}
	}
	return true
}

// keys returns the keys and values by which a step selects items.
func (s step) keys() map[string]string {
	if s.bracket {
		return map[string]string{"name": s.name}
	}
	return s.item
}

// keysOf returns the merge keys and values of an element k:{…}, and nil for other elements.
func keysOf(element string) map[string]any {
	text, ok := strings.CutPrefix(element, "k:")
	if !ok {
		return nil
	}
	var keys map[string]any
	if json.Unmarshal([]byte(text), &keys) != nil {
		return nil
	}
	return keys
}

// scalar returns the text of a scalar. Numbers in objects and in FieldsV1 have different types, but the same text.
func scalar(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}
