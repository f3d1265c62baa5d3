package main

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// mask contains the fields and objects that differ between two renderings of the same chart with the same values,
// because the chart uses random values or the clock. paths has the paths of such fields by object.
type mask struct {
	paths map[id][]string
	// names has, by kind, the number of objects with random names.
	names map[string]int
}

// maskOf compares two renderings.
func maskOf(first, second objects) mask {
	m := mask{paths: map[id][]string{}, names: map[string]int{}}
	for key, object := range first {
		again, found := second[key]
		if !found {
			m.names[key.kind]++
			continue
		}
		each(differences(object.Object, again.Object), func(path string) { m.paths[key] = append(m.paths[key], path) })
	}
	return m
}

// with returns the union of two masks.
func (m mask) with(other mask) mask {
	both := mask{paths: maps.Clone(m.paths), names: maps.Clone(m.names)}
	for key, paths := range other.paths {
		both.paths[key] = slices.Concat(both.paths[key], paths)
	}
	for kind, count := range other.names {
		both.names[kind] = max(both.names[kind], count)
	}
	return both
}

// hides reports whether a field of an object is random. A manifest without a namespace describes an object in any
// namespace.
func (m mask) hides(key id, path string) bool {
	everywhere := key
	everywhere.namespace = ""
	for _, random := range slices.Concat(m.paths[key], m.paths[everywhere]) {
		// The API server stores stringData as data.
		random = strings.Replace(random, "stringData", "data", 1)
		if path == random || strings.HasPrefix(path, random+".") || strings.HasPrefix(random, path+".") {
			return true
		}
	}
	return false
}

// difference is a field that has different values in two objects.
type difference struct {
	path         string
	theirs, ours any
}

func (d difference) String() string {
	return fmt.Sprintf("%s: Helm's %s, ours %s", d.path, shown(d.theirs), shown(d.ours))
}

// missing is the value of a field that does not exist.
type missing struct{}

func shown(value any) string {
	const longest = 120
	text := fmt.Sprintf("%#v", value)
	switch value := value.(type) {
	case missing:
		return "nothing"
	case string:
		text = fmt.Sprintf("%q", value)
	}
	if len(text) > longest {
		text = text[:longest] + "…"
	}
	return text
}

func each(found []difference, visit func(path string)) {
	for _, d := range found {
		visit(d.path)
	}
}

// differences compares two values, field by field. Numbers are compared by their value.
func differences(theirs, ours any) []difference { return appendDifferences(nil, "", theirs, ours) }

func appendDifferences(found []difference, path string, theirs, ours any) []difference {
	switch theirs := theirs.(type) {
	case map[string]any:
		if ours, ok := ours.(map[string]any); ok {
			return appendFields(found, path, theirs, ours)
		}
	case []any:
		if ours, ok := ours.([]any); ok && len(ours) == len(theirs) {
			for i := range theirs {
				found = appendDifferences(found, fmt.Sprintf("%s.%d", path, i), theirs[i], ours[i])
			}
			return found
		}
	}
	if same(theirs, ours) {
		return found
	}
	return append(found, difference{path: strings.TrimPrefix(path, "."), theirs: theirs, ours: ours})
}

func appendFields(found []difference, path string, theirs, ours map[string]any) []difference {
	keys := map[string]bool{}
	for key := range theirs {
		keys[key] = true
	}
	for key := range ours {
		keys[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		a, inTheirs := theirs[key]
		b, inOurs := ours[key]
		if !inTheirs {
			a = missing{}
		}
		if !inOurs {
			b = missing{}
		}
		found = appendDifferences(found, path+"."+key, a, b)
	}
	return found
}

func same(a, b any) bool {
	if x, ok := a.(int64); ok {
		a = float64(x)
	}
	if x, ok := b.(int64); ok {
		b = float64(x)
	}
	return reflect.DeepEqual(a, b)
}

// comparison contains the differences between the objects of a chart in the cluster of Fairlead and in the cluster of
// Helm.
type comparison struct {
	// short contains the shortfalls, which are differences that must not exist. notes contains the differences that the
	// documentation explains.
	short, notes []string
}

// compare compares the objects of a chart in the two clusters. A hook that only Helm retains is no shortfall, because
// Fairlead removes the hooks of an installation with a later revision.
func compare(theirs, ours objects, random mask, isHook func(id) bool) comparison {
	var c comparison
	names := maps.Clone(random.names)
	for _, key := range sortedIDs(theirs) {
		mine, found := ours[key]
		switch {
		case found:
			for _, d := range differences(normalise(theirs[key]), normalise(mine)) {
				if !random.hides(key, d.path) {
					c.short = append(c.short, key.String()+": "+d.String())
				}
			}
		case isHook(key):
			c.notes = append(c.notes, key.String()+": a hook that Helm leaves, and we remove")
		case names[key.kind] == 0:
			c.short = append(c.short, key.String()+": only Helm has it")
		}
	}
	for _, key := range sortedIDs(ours) {
		if _, found := theirs[key]; found {
			continue
		}
		if names[key.kind] > 0 {
			names[key.kind]--
			continue
		}
		c.short = append(c.short, key.String()+": only we have it")
	}
	return c
}

func sortedIDs(all objects) []id {
	return slices.SortedFunc(maps.Keys(all), func(a, b id) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.String(), b.String()))
	})
}
