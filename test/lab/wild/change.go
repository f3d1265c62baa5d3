package main

import (
	"maps"
	"slices"
)

// maxChanges is the maximum number of changes that are tried. Each change needs a rendering.
const maxChanges = 20

// usualKeys are names of values that change the rendering of a chart, but not what the chart does. The names whose
// change has the smallest effect come first.
var usualKeys = []string{
	"podAnnotations", "podLabels", "commonLabels", "commonAnnotations", "additionalLabels", "extraLabels", "customLabels",
	"globalAnnotations", "annotations", "labels", "tag", "replicaCount", "replicas", "logLevel", "priorityClassName",
}

// changes returns changes of values that may change the rendering of a chart. Changes of the first usualKeys come
// first. Of the changes of a key, the change at the highest level of the values comes first.
func changes(values map[string]any) []map[string]any {
	var found []map[string]any
	for _, key := range usualKeys {
		for _, path := range pathsTo(values, key) {
			if changed, ok := changedValue(key, path.value); ok {
				found = append(found, nested(path.keys, changed))
			}
		}
	}
	return found[:min(len(found), maxChanges)]
}

type valuePath struct {
	keys  []string
	value any
}

// pathsTo finds a key in values, level by level.
func pathsTo(values map[string]any, key string) []valuePath {
	level := []valuePath{{value: values}}
	var found []valuePath
	for len(level) > 0 {
		var next []valuePath
		for _, at := range level {
			fields, _ := at.value.(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				below := valuePath{keys: append(slices.Clone(at.keys), name), value: fields[name]}
				if name == key {
					found = append(found, below)
					continue
				}
				next = append(next, below)
			}
		}
		level = next
	}
	return found
}

func changedValue(key string, value any) (any, bool) {
	switch key {
	case "tag":
		tag, ok := value.(string)
		return tag + "-wild", ok && tag != ""
	case "replicaCount", "replicas":
		count, ok := value.(float64)
		return count + 1, ok && count > 0
	case "logLevel":
		return "debug", value == "info"
	case "priorityClassName":
		return "system-cluster-critical", true
	}
	if _, isMap := value.(map[string]any); isMap || value == nil {
		return map[string]any{"wild": "changed"}, true
	}
	return nil, false
}

func nested(keys []string, value any) map[string]any {
	for _, key := range slices.Backward(keys) {
		value = map[string]any{key: value}
	}
	result, _ := value.(map[string]any)
	return result
}

// merged returns values with a change, merged as Helm merges them.
func merged(values, change map[string]any) map[string]any {
	result := maps.Clone(values)
	if result == nil {
		result = map[string]any{}
	}
	for key, value := range change {
		below, isMap := value.(map[string]any)
		previous, wasMap := result[key].(map[string]any)
		if isMap && wasMap {
			value = merged(previous, below)
		}
		result[key] = value
	}
	return result
}
