package inspect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	structured "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/fieldpath"
	"github.com/fairlead-io/fairlead/internal/fieldset"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ConflictingManagers returns the fields of the manifest that we no longer own, each with its manager, ordered by
// manager and field. A field whose manager has our own name is returned only if no other manager owns a lost field. A
// manager with our own name means that another client writes under our name, or that admission changed our write. If no
// manager owns the lost fields, they were removed, and are returned without a manager. Ignored fields are not lost.
func ConflictingManagers(
	obj *unstructured.Unstructured, manifest manifests.Object, policy metav1alpha1.UpdatePolicy, reconciler string,
) []plan.ConflictingManager {
	entries, desired := obj.GetManagedFields(), fieldpath.Strip(manifest.Body.Object, manifest.Settings.IgnoredPaths())
	ours := fieldSet(Entry(entries, reconciler, Operation(policy)))
	lost := fieldSet(FieldsOf(desired, Shape(entries))).Difference(ours).Leaves()
	var others, sameName []plan.ConflictingManager
	for _, e := range entries {
		switch {
		case e.FieldsV1 == nil:
		case e.Manager != reconciler:
			others = append(others, conflictsIn(e, lost, reconciler)...)
		case e.Operation != Operation(policy) || e.Subresource != "":
			// Another client writes under our name, or admission changed our own write.
			sameName = append(sameName, conflictsIn(e, lost, reconciler)...)
		}
	}
	found := others
	if len(found) == 0 {
		found = sameName
	}
	if len(found) == 0 {
		found = removed(obj.Object, desired, reconciler)
	}
	slices.SortFunc(found, func(a, b plan.ConflictingManager) int {
		return cmp.Or(strings.Compare(a.Manager, b.Manager), strings.Compare(a.Operation, b.Operation),
			strings.Compare(a.Subresource, b.Subresource), strings.Compare(a.Field, b.Field))
	})
	return found
}

// conflictsIn returns the lost fields that the manager of an entry owns.
func conflictsIn(e metav1.ManagedFieldsEntry, lost *structured.Set, reconciler string) []plan.ConflictingManager {
	var found []plan.ConflictingManager
	for path := range lost.Intersection(fieldSet(fieldset.Decode(e.FieldsV1))).All() {
		found = append(found, plan.ConflictingManager{
			Field: pathText(path), Mark: isMark(path, reconciler),
			Manager: e.Manager, Operation: string(e.Operation), Subresource: e.Subresource,
		})
	}
	return found
}

// fieldSet decodes fields in the form of FieldsV1. If the fields cannot be decoded, the result is empty.
func fieldSet(fields map[string]any) *structured.Set {
	set := structured.NewSet()
	data, err := json.Marshal(fields)
	if err != nil || fields == nil || set.FromJSON(bytes.NewReader(data)) != nil {
		return structured.NewSet()
	}
	return set
}

// plainName matches the names that the annotation ignore accepts without brackets.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_$-]+$`)

// pathText returns a field path in the form that the annotation ignore accepts. The items of a list without keys are no
// fields, so the text is about the whole list then.
func pathText(path structured.Path) string {
	var text strings.Builder
	for i, element := range path {
		switch {
		case element.Value != nil, element.Index != nil:
			return text.String()
		case element.FieldName == nil:
			text.WriteString(element.String())
		case !plainName.MatchString(*element.FieldName):
			text.WriteString("[" + strconv.Quote(*element.FieldName) + "]")
		case i == 0:
			text.WriteString(*element.FieldName)
		default:
			text.WriteString("." + *element.FieldName)
		}
	}
	return text.String()
}

// isMark reports whether a field path leads to a label or an annotation by which dependents are identified.
func isMark(path structured.Path, reconciler string) bool {
	return len(path) == 3 && path[0].FieldName != nil && *path[0].FieldName == "metadata" &&
		path[2].FieldName != nil && settingtext.IsMark(reconciler, *path[2].FieldName)
}

// removed returns the fields of a manifest that a live object does not have. Fields in lists are ignored.
func removed(live, manifest map[string]any, reconciler string) []plan.ConflictingManager {
	var found []plan.ConflictingManager
	var walk func(live, manifest map[string]any, path structured.Path)
	walk = func(live, manifest map[string]any, path structured.Path) {
		for _, name := range slices.Sorted(maps.Keys(manifest)) {
			at := append(slices.Clone(path), structured.FieldNameElement(name))
			value, exists := live[name]
			below, isMap := manifest[name].(map[string]any)
			switch inner, _ := value.(map[string]any); {
			case isEmpty(manifest[name]):
			case isMap:
				walk(inner, below, at)
			case !exists:
				found = append(found, plan.ConflictingManager{Field: pathText(at), Mark: isMark(at, reconciler)})
			}
		}
	}
	walk(live, manifest, nil)
	return found
}
