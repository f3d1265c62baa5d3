package changes

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Fields returns the sorted paths of the fields that differ between two cleaned objects. Paths contain no values.
func Fields(before, after *unstructured.Unstructured) []string {
	if before == nil || after == nil {
		return nil
	}
	var paths []string
	compare("", before.Object, after.Object, func(path string) { paths = append(paths, strings.TrimPrefix(path, ".")) })
	return paths
}

func compare(path string, before, after any, differs func(path string)) {
	if reflect.DeepEqual(before, after) {
		return
	}
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			compareMaps(path, b, a, differs)
			return
		}
	case []any:
		if a, ok := after.([]any); ok && len(a) == len(b) {
			compareItems(path, b, a, differs)
			return
		}
	}
	differs(path)
}

func compareMaps(path string, before, after map[string]any, differs func(path string)) {
	keys := slices.Collect(maps.Keys(before))
	for key := range after {
		if _, ok := before[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		compare(path+Step(key), before[key], after[key], differs)
	}
}

func compareItems(path string, before, after []any, differs func(path string)) {
	for i := range before {
		compare(path+"["+itemName(after[i], i)+"]", before[i], after[i], differs)
	}
}

// itemName returns the name of an item, or place, the index of the item, if the item has no name.
func itemName(item any, place int) string {
	fields, _ := item.(map[string]any)
	if name, ok := fields["name"].(string); ok && name != "" {
		return name
	}
	return fmt.Sprint(place)
}

// Step returns a field name in the form of a path. Names with dots, slashes or brackets are put in brackets.
func Step(key string) string {
	if strings.ContainsAny(key, "./[]") {
		return "[" + key + "]"
	}
	return "." + key
}
