package changes

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/fieldset"
)

// Owned returns what is left of a live object when all goes that a manager does not own: what it applied last, as far as nobody has taken it
// since. It is nil where the manager owns nothing.
func Owned(live *unstructured.Unstructured, manager string) *unstructured.Unstructured {
	// The entries of a reconciler are by either operation, as its update policy says.
	return ofEntries(live, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == manager && e.Subresource == "" })
}

// Managed returns what is left of a live object when all goes that nobody manages, which are the API server's defaults. Nor is that kept which is
// managed through the status alone: whoever reports it does so again. It is nil where nobody manages anything.
func Managed(live *unstructured.Unstructured) *unstructured.Unstructured {
	return ofEntries(live, func(e metav1.ManagedFieldsEntry) bool { return e.Subresource != "status" })
}

// ofEntries returns what is left of a live object when all goes that none of the wanted entries names; nil where those name nothing.
func ofEntries(live *unstructured.Unstructured, wanted func(metav1.ManagedFieldsEntry) bool) *unstructured.Unstructured {
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

// fieldsOf unites the wanted entries, in the form of FieldsV1.
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
	for _, element := range fieldset.Elements(fields) {
		if fieldset.Matches(item, element) {
			node, _ := fields[element].(map[string]any)
			return node, true
		}
	}
	return nil, false
}
