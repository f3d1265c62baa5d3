package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// verdict is the result of a comparison.
type verdict struct {
	// objects is the number of objects that the rival rendered.
	objects int
	// refused is the reason why neither program renders the case.
	refused string
	// masked are the fields and objects that differ between two runs of the rival.
	masked []string
	// differences are the fields and objects that differ between Fairlead and both runs of the rival.
	differences []string
}

// judge compares the output of Fairlead with two runs of the rival, one before and one after it.
func judge(before, ours, after output) verdict {
	switch {
	case before.failure != "" && ours.failure != "":
		return verdict{refused: before.failure + "\n" + ours.failure}
	case before.failure != "" || after.failure != "":
		return verdict{differences: []string{"Fairlead renders, and the rival does not: " + before.failure + after.failure}}
	case ours.failure != "":
		return verdict{
			objects:     len(before.objects),
			differences: []string{"the rival renders, and Fairlead does not: " + ours.failure},
		}
	}
	j := judgement{verdict: verdict{objects: len(before.objects)}}
	first, second, rendered := byID(before.objects), byID(after.objects), byID(ours.objects)
	for _, known := range before.objects {
		again, stable := second[known.id]
		found, there := rendered[known.id]
		switch {
		case !stable:
			j.masked = append(j.masked, known.id.String())
		case !there:
			j.differences = append(j.differences, known.id.String()+": Fairlead does not render this object")
		default:
			j.value(known.id.String(), "", known.body, found.body, again.body)
		}
	}
	j.extra(ours.objects, first, after.objects)
	return j.verdict
}

type judgement struct{ verdict }

// extra finds objects that only Fairlead rendered. Objects with random names are compared by their number for each
// kind.
func (j *judgement) extra(ours []object, first map[id]object, after []object) {
	random := map[string]int{}
	for _, o := range after {
		if _, stable := first[o.id]; !stable {
			random[o.id.apiVersion+o.id.kind]++
		}
	}
	for _, o := range ours {
		if _, known := first[o.id]; known {
			continue
		}
		kind := o.id.apiVersion + o.id.kind
		if random[kind] > 0 {
			random[kind]--
			continue
		}
		j.differences = append(j.differences, o.id.String()+": only Fairlead renders this object")
	}
}

// value compares a value of Fairlead with the value of the rival, if that is equal in both runs.
func (j *judgement) value(where, path string, before, ours, after any) {
	known, isMap := before.(map[string]any)
	again, isMapAgain := after.(map[string]any)
	if isMap && isMapAgain {
		found, ok := ours.(map[string]any)
		if !ok {
			j.differ(where, path, before, ours)
			return
		}
		j.fields(where, path, known, found, again)
		return
	}
	list, isList := before.([]any)
	listAgain, isListAgain := after.([]any)
	if isList && isListAgain && len(list) == len(listAgain) {
		found, ok := ours.([]any)
		if !ok || len(found) != len(list) {
			j.differ(where, path, before, ours)
			return
		}
		for i := range list {
			j.value(where, fmt.Sprintf("%s[%d]", path, i), list[i], found[i], listAgain[i])
		}
		return
	}
	switch {
	case !same(before, after):
		j.masked = append(j.masked, where+" "+path)
	case !same(before, ours):
		j.differ(where, path, before, ours)
	}
}

func (j *judgement) fields(where, path string, before, ours, after map[string]any) {
	keys := map[string]bool{}
	for _, fields := range []map[string]any{before, ours, after} {
		for key := range fields {
			keys[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		place := strings.TrimPrefix(path+"."+key, ".")
		known, isKnown := before[key]
		again, isAgain := after[key]
		found, isFound := ours[key]
		switch {
		case isKnown != isAgain:
			j.masked = append(j.masked, where+" "+place)
		case isKnown != isFound:
			j.differ(where, place, presence(known, isKnown), presence(found, isFound))
		default:
			j.value(where, place, known, found, again)
		}
	}
}

func (j *judgement) differ(where, path string, want, got any) {
	j.differences = append(j.differences, fmt.Sprintf("%s: %s: want %s, got %s", where, path, shown(want), shown(got)))
}

// missing represents a field that does not exist, in messages.
type missing struct{}

func presence(value any, exists bool) any {
	if !exists {
		return missing{}
	}
	return value
}

func shown(value any) string {
	const longest = 300
	text := fmt.Sprintf("%#v", value)
	switch value.(type) {
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

// same compares numbers by value, because 1 and 1.0 are the same number to the API server.
func same(a, b any) bool {
	if x, ok := a.(int64); ok {
		a = float64(x)
	}
	if x, ok := b.(int64); ok {
		b = float64(x)
	}
	return reflect.DeepEqual(a, b)
}

func byID(objects []object) map[id]object {
	found := make(map[id]object, len(objects))
	for _, o := range objects {
		found[o.id] = o
	}
	return found
}
