package changes

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/fieldset"
)

// Owned returns the fields of a live object that a manager owns: what it applied last, except for fields that others
// took over. It returns nil if the manager owns nothing.
func Owned(live *unstructured.Unstructured, manager string) *unstructured.Unstructured {
	// A reconciler has entries of both operations, depending on its update policy.
	return ofEntries(live, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == manager && e.Subresource == "" })
}

// Managed returns the fields of a live object that somebody manages, so without defaults of the API server. Fields that
// are only managed through the status are left out, because their manager reports them again. It returns nil if nobody
// manages anything.
func Managed(live *unstructured.Unstructured) *unstructured.Unstructured {
	return ofEntries(live, func(e metav1.ManagedFieldsEntry) bool { return e.Subresource != "status" })
}

// ofEntries returns the fields of a live object in the wanted entries, nil if these have none.
func ofEntries(
	live *unstructured.Unstructured, wanted func(metav1.ManagedFieldsEntry) bool,
) *unstructured.Unstructured {
	if live == nil {
		return nil
	}
	fields := fieldsOf(live.GetManagedFields(), wanted)
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

// fieldsOf returns the union of the wanted entries, in the form of FieldsV1.
func fieldsOf(entries []metav1.ManagedFieldsEntry, wanted func(metav1.ManagedFieldsEntry) bool) map[string]any {
	var united map[string]any
	for _, e := range entries {
		if !wanted(e) {
			continue
		}
		fields := fieldset.Decode(e.FieldsV1)
		if fields == nil {
			continue
		}
		if united == nil {
			united = map[string]any{}
		}
		fieldset.Unite(united, fields)
	}
	return united
}

// project returns the parts of a value that are in fields. A field without others below it stands for its whole value.
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

// nodeOf returns the fields of an item of a list, by the item's keys or value.
func nodeOf(item any, fields map[string]any) (map[string]any, bool) {
	for _, element := range fieldset.Elements(fields) {
		if fieldset.Matches(item, element) {
			node, _ := fields[element].(map[string]any)
			return node, true
		}
	}
	return nil, false
}
