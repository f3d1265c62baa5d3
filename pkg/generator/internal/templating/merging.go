package templating

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"text/template"

	"dario.cat/mergo"
)

// changing are the template functions that put values into an existing map.
type changing struct {
	in *Input
	// chart is set for the functions of charts; see put.
	chart bool
}

// functions returns the template functions that put values into an existing map.
func (c changing) functions() template.FuncMap {
	return template.FuncMap{
		"set":            c.put,
		"merge":          c.silentMerge(false),
		"mergeOverwrite": c.silentMerge(true),
		"mustMerge": func(into map[string]any, more ...map[string]any) (any, error) {
			return c.merge(into, more, false)
		},
		"mustMergeOverwrite": func(into map[string]any, more ...map[string]any) (any, error) {
			return c.merge(into, more, true)
		},
	}
}

// put sets a key of a map, and returns the map. A value that contains the map is an error, except in a chart: some
// charts put their context into itself, and Helm accepts that. All functions that read such a map return an error.
func (c changing) put(into map[string]any, key string, value any) (map[string]any, error) {
	if !c.chart {
		if err := c.checkNotWithin(into, value); err != nil {
			return nil, err
		}
	}
	into[key] = value
	return into, nil
}

// checkNotWithin returns an error if a value contains a map.
func (c changing) checkNotWithin(wanted map[string]any, value any) error {
	search := &mapSearch{wanted: reflect.ValueOf(wanted).UnsafePointer(), rest: c.in.Budget.limits.OutputBytes / elementCost}
	switch found := search.in(value, 0); {
	case found:
		return &limitError{"the value contains the map itself: maps and lists cannot contain themselves"}
	case search.tooDeep:
		return errNesting
	case search.rest < 0:
		return c.in.Budget.exceeded()
	default:
		return nil
	}
}

// mapSearch searches for a map in a value.
type mapSearch struct {
	wanted  any
	rest    int
	tooDeep bool
}

func (m *mapSearch) in(value any, depth int) bool {
	if m.rest--; m.rest < 0 {
		return false
	}
	m.tooDeep = m.tooDeep || depth > maxNesting
	if m.tooDeep {
		return false
	}
	switch value := value.(type) {
	case map[string]any:
		if any(reflect.ValueOf(value).UnsafePointer()) == m.wanted {
			return true
		}
		for _, element := range value {
			if m.in(element, depth+1) {
				return true
			}
		}
	case []any:
		for _, element := range value {
			if m.in(element, depth+1) {
				return true
			}
		}
	}
	return false
}

// silentMerge returns a function that merges maps. Like sprig, it returns an empty text if the maps cannot be merged.
func (c changing) silentMerge(overwrite bool) any {
	return func(into map[string]any, more ...map[string]any) (any, error) {
		merged, err := c.merge(into, more, overwrite)
		var exceeded *limitError
		if err == nil || errors.As(err, &exceeded) || c.in.Budget.ctx.Err() != nil {
			return merged, err
		}
		// The merge ended in the middle of a map, which has no order.
		c.in.Budget.varies = true
		return "", nil
	}
}

// merge merges maps into the first map, like sprig.
func (c changing) merge(into map[string]any, more []map[string]any, overwrite bool) (any, error) {
	if err := c.in.Budget.spendMerged(slices.Concat([]map[string]any{into}, more)...); err != nil {
		return nil, err
	}
	options := []func(*mergo.Config){}
	if overwrite {
		options = append(options, mergo.WithOverride)
	}
	for _, from := range more {
		if into == nil && from != nil {
			into = map[string]any{}
		}
		if err := mergeMaps(into, from, options, 0); err != nil {
			return nil, err
		}
	}
	if !c.chart {
		if err := c.in.Budget.fits(into); err != nil {
			return nil, err
		}
	}
	return into, nil
}

// mergeMaps merges a map into another, with the rules of mergo, which sprig uses. mergo descends without a limit, and a
// merge can make a map contain itself while it is merged. Therefore maps in maps are merged here, and all other values
// by mergo.
func mergeMaps(into, from map[string]any, options []func(*mergo.Config), depth int) error {
	if depth > maxNesting {
		return errNesting
	}
	others := make(map[string]any, len(from))
	for _, key := range slices.Sorted(maps.Keys(from)) { // A map may occur under several keys.
		value := from[key]
		inner, below := mapOf(value), mapOf(into[key])
		if inner == nil || below == nil {
			others[key] = value
			continue
		}
		if err := mergeMaps(below, inner, options, depth+1); err != nil {
			return err
		}
		if len(below) == 0 {
			into[key] = value
		}
	}
	if len(others) == 0 {
		return nil
	}
	return mergo.Merge(&into, others, options...)
}

// mapOf returns a value as a map, or nil if it is no map of values of any type.
func mapOf(value any) map[string]any {
	if plain, ok := value.(map[string]any); ok || value == nil {
		return plain
	}
	named := reflect.ValueOf(value)
	if named.Kind() != reflect.Map || !named.CanConvert(reflect.TypeFor[map[string]any]()) {
		return nil
	}
	plain, _ := reflect.TypeAssert[map[string]any](named.Convert(reflect.TypeFor[map[string]any]()))
	return plain
}
