package changes

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/fieldset"
)

// Owned returns the fields of a live object that a manager owns: the fields of its last write, except for those that
// other managers took over. It returns nil if the manager owns no fields.
func Owned(live *unstructured.Unstructured, manager string) *unstructured.Unstructured {
	// The update policy of the dependent determines whether the entry has operation Apply or Update, so both are selected.
	return ofEntries(live, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == manager && e.Subresource == "" })
}

// Managed returns the fields of a live object that have a field manager, so it leaves out defaults of the API server.
// It also leaves out fields that were written only through the subresource status, because their manager will write
// them again. It returns nil if no field has a manager.
func Managed(live *unstructured.Unstructured) *unstructured.Unstructured {
	return ofEntries(live, func(e metav1.ManagedFieldsEntry) bool { return e.Subresource != "status" })
}

// ofEntries returns the fields of a live object that are in the wanted entries, or nil if the entries have no fields.
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

// fieldsOf returns the union of the fields of the wanted entries, in the form of FieldsV1.
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

// project returns the parts of a value that fields contains. A field without fields below it includes its whole value.
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

// nodeOf returns the node of FieldsV1 for an item of a list. It finds the node by the item's keys or value.
func nodeOf(item any, fields map[string]any) (map[string]any, bool) {
	for _, element := range fieldset.Elements(fields) {
		if fieldset.Matches(item, element) {
			node, _ := fields[element].(map[string]any)
			return node, true
		}
	}
	return nil, false
}
