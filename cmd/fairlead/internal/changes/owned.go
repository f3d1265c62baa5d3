package changes

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Owned returns what is left of a live object when all goes that a manager does not own: what it applied last, as far as nobody has taken it
// since. It is nil where the manager owns nothing.
func Owned(live *unstructured.Unstructured, manager string) *unstructured.Unstructured {
	if live == nil {
		return nil
	}
	fields := fieldsOf(live.GetManagedFields(), manager)
	if fields == nil {
		return nil
	}
	kept, _ := project(live.Object, fields).(map[string]any)
	if kept == nil {
		kept = map[string]any{}
	}
	owned := &unstructured.Unstructured{Object: kept}
	owned.SetGroupVersionKind(live.GroupVersionKind())
	owned.SetNamespace(live.GetNamespace())
	owned.SetName(live.GetName())
	return owned
}

// fieldsOf unites the entries of a manager, in the form of FieldsV1. Those of a reconciler are by either operation, as its update policy says.
func fieldsOf(entries []metav1.ManagedFieldsEntry, manager string) map[string]any {
	var united map[string]any
	for _, e := range entries {
		if e.Manager != manager || e.Subresource != "" || e.FieldsV1 == nil {
			continue
		}
		var fields map[string]any
		if json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		if united == nil {
			united = map[string]any{}
		}
		unite(united, fields)
	}
	return united
}

func unite(into, from map[string]any) {
	for name, node := range from {
		child, _ := node.(map[string]any)
		have, ok := into[name].(map[string]any)
		if !ok {
			have = map[string]any{}
			into[name] = have
		}
		unite(have, child)
	}
}

// project keeps of a value what the fields name. A field without others below it stands for all of its value.
func project(value any, fields map[string]any) any {
	if below := without(fields, "."); len(below) == 0 {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, child := range v {
			if node, ok := fields["f:"+name].(map[string]any); ok {
				kept[name] = project(child, node)
			}
		}
		return kept
	case []any:
		var kept []any
		for _, item := range v {
			if node, ok := nodeOf(item, fields); ok {
				kept = append(kept, project(item, node))
			}
		}
		return kept
	}
	return value
}

func without(fields map[string]any, name string) []string {
	var rest []string
	for field := range fields {
		if field != name {
			rest = append(rest, field)
		}
	}
	return rest
}

// nodeOf finds the fields of an item of a list: by the keys that tell its items apart, or by its value.
func nodeOf(item any, fields map[string]any) (map[string]any, bool) {
	names := without(fields, ".")
	slices.Sort(names)
	for _, name := range names {
		if names := strings.TrimPrefix(name, "k:"); names != name && hasKeys(item, names) || name == "v:"+encode(item) {
			node, _ := fields[name].(map[string]any)
			return node, true
		}
	}
	return nil, false
}

func hasKeys(item any, keys string) bool {
	fields, _ := item.(map[string]any)
	var wanted map[string]any
	if json.Unmarshal([]byte(keys), &wanted) != nil || fields == nil {
		return false
	}
	for name, value := range wanted {
		if encode(fields[name]) != encode(value) {
			return false
		}
	}
	return true
}

func encode(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(data)
}
