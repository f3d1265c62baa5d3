package fieldpath

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/fieldset"
)

// Live is a live object, with the managed fields of its managers in the form of FieldsV1.
type Live struct {
	Object map[string]any
	// Ours are the fields of the reconciler, and Others those of all other managers.
	Ours, Others map[string]any
}

// Prepare returns the manifest to send for a live object. The fields that the paths select are left out, except those
// that only the reconciler owns: they have their live values, because the API server deletes a field that its only
// owner leaves out. In a value that the API server treats as one field, such as a list without merge keys, the selected
// parts have their live values.
//
// If the live object lacks the map or the item around a field, the field keeps the value of the manifest. If the
// manifest lacks it, the field is not kept.
//
// Prepare returns an error if a path selects items by other fields than their merge keys, or ends at a merge key.
func Prepare(manifest map[string]any, live Live, paths []Path) (map[string]any, error) {
	shape := map[string]any{}
	fieldset.Unite(shape, live.Ours)
	fieldset.Unite(shape, live.Others)
	body := manifest
	for _, p := range paths {
		stripped, err := leaveOut(body, live.Object, shape, p.steps)
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", p, err)
		}
		body, _ = stripped.(map[string]any)
	}
	for _, p := range paths {
		kept, _ := keep(manifest, body, live.Object, live.Ours, live.Others, p.steps).(map[string]any)
		body = kept
	}
	return body, nil
}

// leaveOut returns a copy of a value of the manifest without the values that the steps select. In a value that the API
// server does not divide, the selected values are replaced by the live values. live and shape are the live value and
// its fields.
func leaveOut(value, live any, shape map[string]any, steps []step) (any, error) {
	if len(shape) == 0 {
		return overlay(value, live, steps), nil
	}
	switch v := value.(type) {
	case map[string]any:
		if l, ok := live.(map[string]any); ok {
			return leaveOutOfMap(v, l, shape, steps)
		}
	case []any:
		if l, ok := live.([]any); ok {
			return leaveOutOfList(v, l, shape, steps)
		}
	}
	return value, nil
}

func leaveOutOfMap(value, live, shape map[string]any, steps []step) (any, error) {
	out := maps.Clone(value)
	for _, name := range steps[0].namesIn(value) {
		child, set := value[name]
		current, exists := live[name]
		switch {
		case !set || len(steps) > 1 && !exists:
		case len(steps) == 1:
			delete(out, name)
		default:
			node, _ := shape["f:"+name].(map[string]any)
			rest, err := leaveOut(child, current, node, steps[1:])
			if err != nil {
				return nil, err
			}
			if out[name] = rest; isEmpty(rest) && !isEmpty(child) {
				delete(out, name)
			}
		}
	}
	return out, nil
}

func leaveOutOfList(value, live []any, shape map[string]any, steps []step) (any, error) {
	elements := fieldset.Elements(shape)
	if err := checkElements(elements, steps); err != nil {
		return nil, err
	}
	out := make([]any, 0, len(value))
	for _, item := range value {
		element := elementOf(item, elements)
		current, exists := itemOf(element, live)
		if element == "" || !exists || !steps[0].selectsElement(element) {
			out = append(out, item)
			continue
		}
		if len(steps) == 1 {
			continue
		}
		node, _ := shape[element].(map[string]any)
		rest, err := leaveOut(item, current, node, steps[1:])
		if err != nil {
			return nil, err
		}
		out = append(out, rest)
	}
	return out, nil
}

// checkElements returns an error if the first of the steps does not select items by their merge keys, or if the second
// is the last and selects a merge key.
func checkElements(elements []string, steps []step) error {
	for _, element := range elements {
		keys := keysOf(element)
		if keys == nil {
			continue
		}
		names := slices.Sorted(maps.Keys(keys))
		for _, key := range slices.Sorted(maps.Keys(steps[0].keys())) {
			if _, ok := keys[key]; !ok {
				return fmt.Errorf("it selects items of a list by %s, but the API server identifies them by %s",
					key, strings.Join(names, ", "))
			}
		}
		if len(steps) != 2 {
			continue
		}
		if _, isKey := keys[steps[1].name]; isKey || steps[1].all {
			return fmt.Errorf("the API server identifies the items of the list by %s, so it cannot be ignored",
				strings.Join(names, ", "))
		}
	}
	return nil
}

// elementOf returns the element that identifies an item, and an empty text if there is none.
func elementOf(item any, elements []string) string {
	for _, element := range elements {
		if fieldset.Matches(item, element) {
			return element
		}
	}
	return ""
}

func itemOf(element string, items []any) (any, bool) {
	i := slices.IndexFunc(items, func(item any) bool { return element != "" && fieldset.Matches(item, element) })
	if i < 0 {
		return nil, false
	}
	return items[i], true
}

// keep returns a copy of body with the live values of the fields that the steps select and that only the reconciler
// owns. manifest is the value before fields were left out. A field is kept only if the manifest has the map or item
// around it.
func keep(manifest, body, live any, ours, others map[string]any, steps []step) any {
	switch m := manifest.(type) {
	case map[string]any:
		l, _ := live.(map[string]any)
		b, _ := body.(map[string]any)
		return keepInMap(m, b, l, ours, others, steps)
	case []any:
		l, _ := live.([]any)
		b, _ := body.([]any)
		return keepInList(m, b, l, ours, others, steps)
	}
	return body
}

func keepInMap(manifest, body, live, ours, others map[string]any, steps []step) any {
	out := maps.Clone(body)
	if out == nil {
		out = map[string]any{}
	}
	for element, node := range ours {
		name, isField := strings.CutPrefix(element, "f:")
		current, exists := live[name]
		if !isField || !exists || !steps[0].selectsElement(element) {
			continue
		}
		mine, _ := node.(map[string]any)
		theirs, shared := others[element].(map[string]any)
		if len(steps) == 1 {
			if value, ok := onlyOurs(current, mine, theirs, shared); ok {
				out[name] = value
			}
			continue
		}
		around, set := manifest[name]
		if !set || len(mine) == 0 {
			continue
		}
		if value := keep(around, body[name], current, mine, theirs, steps[1:]); !isEmpty(value) {
			out[name] = value
		}
	}
	return out
}

func keepInList(manifest, body, live []any, ours, others map[string]any, steps []step) any {
	out := slices.Clone(body)
	for _, element := range fieldset.Elements(ours) {
		current, exists := itemOf(element, live)
		if !exists || !steps[0].selectsElement(element) {
			continue
		}
		mine, _ := ours[element].(map[string]any)
		theirs, shared := others[element].(map[string]any)
		if len(steps) == 1 {
			if value, ok := onlyOurs(current, mine, theirs, shared); ok {
				out = append(out, withKeys(value, element))
			}
			continue
		}
		around, set := itemOf(element, manifest)
		i := slices.IndexFunc(out, func(item any) bool { return fieldset.Matches(item, element) })
		if set && i >= 0 {
			out[i] = keep(around, out[i], current, mine, theirs, steps[1:])
		}
	}
	return out
}

// onlyOurs returns the part of a live value that only the reconciler owns, and whether there is any. ours are its
// fields, and others those of the other managers if shared is set; otherwise no other manager owns a part of the value.
func onlyOurs(live any, ours, others map[string]any, shared bool) (any, bool) {
	if len(ours) == 0 || shared && len(others) == 0 {
		return live, !shared
	}
	switch l := live.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, child := range l {
			mine, owned := ours["f:"+name].(map[string]any)
			theirs, both := others["f:"+name].(map[string]any)
			if !owned {
				continue
			}
			if value, ok := onlyOurs(child, mine, theirs, both); ok {
				out[name] = value
			}
		}
		return out, len(out) > 0
	case []any:
		out := []any{}
		elements := fieldset.Elements(ours)
		for _, item := range l {
			element := elementOf(item, elements)
			mine, owned := ours[element].(map[string]any)
			theirs, both := others[element].(map[string]any)
			if !owned {
				continue
			}
			if value, ok := onlyOurs(item, mine, theirs, both); ok {
				out = append(out, withKeys(value, element))
			}
		}
		return out, len(out) > 0
	}
	return live, !shared
}

// withKeys returns an item with the merge keys of its element.
func withKeys(item any, element string) any {
	fields, ok := item.(map[string]any)
	keys := keysOf(element)
	if !ok || keys == nil {
		return item
	}
	out := maps.Clone(fields)
	for key, value := range keys {
		if _, set := out[key]; !set {
			out[key] = value
		}
	}
	return out
}
