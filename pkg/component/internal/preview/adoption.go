package preview

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// adoptionOf returns the adoption by an action, with the values that get lost as its dry run shows; nil if the action
// adopts nothing.
func adoptionOf(a plan.Action, answer asked) *result.Adoption {
	if !a.Reason.Adopts() {
		return nil
	}
	adoption := &result.Adoption{
		UID: a.Preconditions.UID, From: a.AdoptedFrom,
		Listed: a.Reason == plan.ReasonListed || a.Reason == plan.ReasonMoved,
		Moved:  a.Reason == plan.ReasonMoved, Released: a.Reason == plan.ReasonReleased,
	}
	switch {
	case answer.Before != nil && answer.After != nil:
		adoption.Lost = lostValues(answer.Before, answer.After)
	default:
		adoption.Unknown = cmp.Or(answer.unchecked, "the object could not be read")
	}
	return adoption
}

// lostValues returns the values of an object that differ after a write, apart from those that the API server and the
// tools keep for themselves: the status, the managed fields, marks of other tools, and the like. Values that the write
// adds are not lost.
func lostValues(before, after *unstructured.Unstructured) []result.LostValue {
	var lost []result.LostValue
	addLost(&lost, "", takeable(before), takeable(after))
	slices.SortFunc(lost, func(a, b result.LostValue) int { return strings.Compare(a.Path, b.Path) })
	if before.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
		for i := range lost {
			lost[i] = result.LostValue{Path: lost[i].Path, Withheld: true}
		}
	}
	return lost
}

// takeable returns the part of an object that a take-over may take from somebody.
func takeable(obj *unstructured.Unstructured) map[string]any {
	copied := obj.DeepCopy()
	tools := inspect.ToolMarksOf(obj)
	labels, annotations := copied.GetLabels(), copied.GetAnnotations()
	for _, key := range tools.Labels {
		delete(labels, key)
	}
	for _, key := range append(tools.Annotations, corev1.LastAppliedConfigAnnotation) {
		delete(annotations, key)
	}
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		return strings.HasSuffix(key, "/"+marks.AnnotationReleasedBy)
	})
	deleteOwnerMarks(labels, annotations)
	kept := map[string]any{}
	if len(labels) > 0 {
		copied.SetLabels(labels)
		kept["labels"], _, _ = unstructured.NestedFieldNoCopy(copied.Object, "metadata", "labels")
	}
	if len(annotations) > 0 {
		copied.SetAnnotations(annotations)
		kept["annotations"], _, _ = unstructured.NestedFieldNoCopy(copied.Object, "metadata", "annotations")
	}
	for _, field := range []string{"finalizers", "ownerReferences"} {
		if value, found, _ := unstructured.NestedFieldNoCopy(copied.Object, "metadata", field); found {
			kept[field] = value
		}
	}
	copied.Object["metadata"] = kept
	delete(copied.Object, "status")
	return copied.Object
}

// deleteOwnerMarks deletes the marks of the component that owns an object. The adoption names this component itself.
func deleteOwnerMarks(labels, annotations map[string]string) {
	for key := range labels {
		prefix, isMark := strings.CutSuffix(key, "/"+manifests.LabelOwnerID)
		if !isMark {
			continue
		}
		delete(labels, key)
		delete(annotations, prefix+"/"+manifests.AnnotationOwnerID)
		delete(annotations, prefix+"/"+marks.AnnotationDigest)
		delete(annotations, prefix+"/"+marks.AnnotationObject)
	}
}

// addLost adds the values below a path that differ. Maps, and lists of equal length, are compared by their items. A map
// that is removed counts as an empty map.
func addLost(lost *[]result.LostValue, path string, before, after any) {
	switch was := before.(type) {
	case map[string]any:
		if is, ok := after.(map[string]any); ok || after == nil {
			for name, value := range was {
				addLost(lost, fieldPath(path, name), value, is[name])
			}
			return
		}
	case []any:
		if is, ok := after.([]any); ok && len(is) == len(was) {
			for i, value := range was {
				addLost(lost, fmt.Sprintf("%s[%d]", path, i), value, is[i])
			}
			return
		}
	}
	if before == nil || reflect.DeepEqual(before, after) {
		return
	}
	value := result.LostValue{Path: path, Before: jsonText(before)}
	if after != nil {
		value.After = jsonText(after)
	}
	*lost = append(*lost, value)
}

// fieldPath returns the path to a field. A name with a dot, such as that of most annotations, is quoted.
func fieldPath(path, name string) string {
	switch {
	case strings.ContainsAny(name, ".[]\"/"):
		return path + "[" + strconv.Quote(name) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

func jsonText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
