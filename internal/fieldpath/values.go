package fieldpath

import "maps"

// Strip returns an object without the values that the paths select. A map or a list that is empty without them is left
// out, too.
func Strip(obj map[string]any, paths []Path) map[string]any {
	for _, p := range paths {
		if stripped, ok := strip(obj, p.steps).(map[string]any); ok {
			obj = stripped
		}
	}
	return obj
}

// Without returns an object without the values that the path selects; see Strip.
func (p Path) Without(obj map[string]any) map[string]any { return Strip(obj, []Path{p}) }

// strip returns a copy of a value without the values that the steps select.
func strip(value any, steps []step) any {
	switch v := value.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for name, child := range v {
			if !steps[0].all && (steps[0].name == "" || steps[0].name != name) {
				continue
			}
			if len(steps) == 1 {
				delete(out, name)
				continue
			}
			if out[name] = strip(child, steps[1:]); isEmpty(out[name]) && !isEmpty(child) {
				delete(out, name)
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, item := range v {
			if steps[0].selectsItem(item) {
				if len(steps) == 1 {
					continue
				}
				item = strip(item, steps[1:])
			}
			out = append(out, item)
		}
		return out
	}
	return value
}

// selectsItem reports whether a step selects an item of a list by its values.
func (s step) selectsItem(item any) bool {
	if s.all {
		return true
	}
	fields, ok := item.(map[string]any)
	keys := s.keys()
	if !ok || keys == nil {
		return false
	}
	for key, want := range keys {
		got, found := fields[key]
		if !found || scalar(got) != want {
			return false
		}
	}
	return true
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// Overlay returns a manifest with the values of the live object in the fields that the paths select. A selected field
// that the live object does not have is left out. If the live object lacks the map or the item around the field, the
// field keeps the value of the manifest. The items of a list that a star selects are compared by position, and only if
// both lists have the same length.
func Overlay(manifest, live map[string]any, paths []Path) map[string]any {
	for _, p := range paths {
		if laid, ok := overlay(manifest, live, p.steps).(map[string]any); ok {
			manifest = laid
		}
	}
	return manifest
}

func overlay(value, live any, steps []step) any {
	switch v := value.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return value
		}
		return overlayMap(v, l, steps)
	case []any:
		l, ok := live.([]any)
		if !ok {
			return value
		}
		return overlayList(v, l, steps)
	}
	return value
}

func overlayMap(value, live map[string]any, steps []step) map[string]any {
	out := maps.Clone(value)
	for _, name := range steps[0].namesIn(value, live) {
		current, exists := live[name]
		child, set := value[name]
		switch {
		case len(steps) > 1 && set && exists:
			out[name] = overlay(child, current, steps[1:])
		case len(steps) > 1:
		case exists:
			out[name] = current
		default:
			delete(out, name)
		}
	}
	return out
}

// namesIn returns the names of the fields that a step selects in one of several maps.
func (s step) namesIn(fields ...map[string]any) []string {
	if !s.all {
		if s.name == "" {
			return nil
		}
		return []string{s.name}
	}
	seen := map[string]bool{}
	var names []string
	for _, m := range fields {
		for name := range m {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}

func overlayList(value, live []any, steps []step) []any {
	out := make([]any, 0, len(value))
	for i, item := range value {
		current, found := counterpart(steps[0], i, item, live, len(value))
		switch {
		case !steps[0].selectsItem(item):
			out = append(out, item)
		case found && len(steps) == 1:
			out = append(out, current)
		case found:
			out = append(out, overlay(item, current, steps[1:]))
		case len(steps) > 1 || steps[0].all:
			out = append(out, item)
		}
	}
	return out
}

// counterpart returns the item of the live list that corresponds to an item of the manifest's list.
func counterpart(s step, index int, item any, live []any, length int) (any, bool) {
	if s.all {
		if len(live) != length {
			return nil, false
		}
		return live[index], true
	}
	if !s.selectsItem(item) {
		return nil, false
	}
	for _, l := range live {
		if s.selectsItem(l) {
			return l, true
		}
	}
	return nil, false
}
