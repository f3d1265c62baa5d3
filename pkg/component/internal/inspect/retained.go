package inspect

import (
	"bytes"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/fieldset"
	"github.com/fairlead-io/fairlead/pkg/component/internal/serverrules"
)

// fixed are the fields of Services that cannot change: the API server copies them from the old object.
var fixed = []string{"spec.clusterIP"}

// retained returns our fields whose effect stays when an update leaves them out: because the API server retains their
// values, which cannot change, or because it keeps copies of them. It also returns defaults without an owner that the
// API server derived from other fields.
func retained(obj *unstructured.Unstructured, reconciler string) []string {
	kind := obj.GroupVersionKind().GroupKind()
	if derived := serverrules.DerivedIn(kind, obj.Object); len(derived) > 0 {
		return unowned(derived, obj.GetManagedFields())
	}
	candidates := serverrules.Copied(kind)
	if kind == (schema.GroupKind{Kind: "Service"}) {
		candidates = fixed
	}
	if len(candidates) == 0 {
		return nil
	}
	var found []string
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager != reconciler || entry.Subresource != "" || !mayOwn(entry, candidates) {
			continue
		}
		fields := fieldset.Decode(entry.FieldsV1)
		for _, field := range candidates {
			if owns(fields, strings.Split(field, ".")) {
				found = addName(found, field)
			}
		}
	}
	return found
}

// unowned returns the texts of those derived defaults that no manager owns. Our apply removes the others, or must not
// touch them.
func unowned(derived []serverrules.Derived, entries []metav1.ManagedFieldsEntry) []string {
	var found []string
	for _, d := range derived {
		if !slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
			return mayOwn(e, []string{strings.Join(d.Path, ".")}) && owns(fieldset.Decode(e.FieldsV1), d.Path)
		}) {
			found = append(found, d.Text)
		}
	}
	return found
}

// mayOwn reports whether the text of an entry contains the name of a field. This check saves the decoding of most
// entries.
func mayOwn(entry metav1.ManagedFieldsEntry, fields []string) bool {
	return entry.FieldsV1 != nil && slices.ContainsFunc(fields, func(field string) bool {
		return bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:`+field[strings.LastIndex(field, ".")+1:]+`"`))
	})
}

// owns reports whether fields, in the form of FieldsV1, have a field.
func owns(fields map[string]any, path []string) bool {
	for i, name := range path {
		node, found := fields["f:"+name]
		if !found {
			return false
		}
		if fields, found = node.(map[string]any); !found && i < len(path)-1 {
			return false
		}
	}
	return true
}

// addName adds a name to a short list, unless the list already contains the name.
func addName(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}
