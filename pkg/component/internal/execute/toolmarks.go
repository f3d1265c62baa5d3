package execute

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// An adoption removes the marks of other tools in the write that makes the component the owner. Otherwise a tool that
// finds its objects by their marks, such as Argo CD, kapp and the Kustomizations of Flux, would still delete the
// object. Helm goes by the record of its release, so it deletes the object also without the mark.

// removedMarks returns the marks of other tools, and the mark of a release, that an action removes from a live object:
// none unless the action adopts the object. Labels and annotations that the manifest sets stay.
func removedMarks(live *unstructured.Unstructured, a plan.Action, reconciler string) inspect.ToolMarks {
	if !a.Reason.Adopts() || a.Object == nil {
		return inspect.ToolMarks{}
	}
	removed := inspect.ToolMarksOf(live)
	if key := reconciler + "/" + marks.AnnotationReleasedBy; live.GetAnnotations()[key] != "" {
		removed.Annotations = append(removed.Annotations, key)
	}
	removed.Labels = unset(removed.Labels, a.Object.Body.GetLabels())
	removed.Annotations = unset(removed.Annotations, a.Object.Body.GetAnnotations())
	return removed
}

// isMarkedSince reports whether another tool has marked an object after an action was planned that adopts the object
// without an owner, or the mark of the release that permits the adoption was removed. Nobody has permitted the adoption
// then. An object with our owner label has been adopted by an earlier request of the action.
func isMarkedSince(found *plan.Observed, a plan.Action) bool {
	switch mark := found.Mark; {
	case !a.Reason.AdoptsUnowned() || mark == nil:
		return false
	case a.Reason == plan.ReasonReleased && mark.ReleasedBy != a.Owner:
		return true
	default:
		return mark.By != "" && mark.By != a.AdoptedFrom
	}
}

// unset returns the keys that a map does not have.
func unset(keys []string, values map[string]string) []string {
	return slices.DeleteFunc(keys, func(key string) bool {
		_, set := values[key]
		return set
	})
}

// removeMarks removes marks from an object that is sent as an update.
func removeMarks(obj *unstructured.Unstructured, marks inspect.ToolMarks) {
	if labels := obj.GetLabels(); len(marks.Labels) > 0 {
		maps.DeleteFunc(labels, func(key, _ string) bool { return slices.Contains(marks.Labels, key) })
		obj.SetLabels(labels)
	}
	if annotations := obj.GetAnnotations(); len(marks.Annotations) > 0 {
		maps.DeleteFunc(annotations, func(key, _ string) bool { return slices.Contains(marks.Annotations, key) })
		obj.SetAnnotations(annotations)
	}
}

// takeMarks moves marks from the entries of other managers to our fields. The server-side apply that follows then
// removes the marks, because the manifest does not set them.
func takeMarks(
	ours *fieldpath.Set, rest []metav1.ManagedFieldsEntry, marks inspect.ToolMarks,
) (*fieldpath.Set, []metav1.ManagedFieldsEntry, error) {
	taken := fieldpath.NewSet()
	for _, key := range marks.Labels {
		taken.Insert(fieldpath.MakePathOrDie("metadata", "labels", key))
	}
	for _, key := range marks.Annotations {
		taken.Insert(fieldpath.MakePathOrDie("metadata", "annotations", key))
	}
	if taken.Empty() {
		return ours, rest, nil
	}
	var left []metav1.ManagedFieldsEntry
	for _, entry := range rest {
		theirs, err := fieldsIn(entry)
		if err != nil {
			return nil, nil, err
		}
		if fields := theirs.Difference(taken); !fields.Equals(theirs) {
			if fields.Empty() {
				continue
			}
			other, err := newEntry(entry.Manager, entry.Operation, entry.APIVersion, fields)
			if err != nil {
				return nil, nil, err
			}
			other.Time, other.Subresource = entry.Time, entry.Subresource
			entry = other
		}
		left = append(left, entry)
	}
	return ours.Union(taken), left, nil
}
