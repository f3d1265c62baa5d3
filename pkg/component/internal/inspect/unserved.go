package inspect

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// firstCheck is the time limit for the first availability check of a new APIService by the API server.
const firstCheck = 5 * time.Second

// Unserved returns a text that identifies the state of a definition that serves no version of its types now. The text
// is empty for a definition that serves a version, and for all other objects. If two calls at different times return
// the same text, the definition served no version in between:
//
//   - The text for a CustomResourceDefinition without a served version has its UID and its generation, which grows with
//     each change of its spec. So a definition of generation 1 has served no version since it was created.
//   - The text for an APIService that is not Available has its UID and the time of the last change of that condition.
//     The time is 0 if the APIService became unavailable at its first check, right after it was created.
func Unserved(obj *unstructured.Unstructured) string {
	switch obj.GroupVersionKind().GroupKind() {
	case plan.CustomResourceDefinition:
		if servesNoVersion(obj) {
			return plan.UnservedState(obj.GetUID(), obj.GetGeneration())
		}
	case plan.APIService:
		if since, ok := notAvailableSince(obj); ok {
			return plan.UnservedState(obj.GetUID(), since)
		}
	}
	return ""
}

// servesNoVersion reports whether a CustomResourceDefinition serves none of its versions, and all versions in which
// objects are stored are among them.
func servesNoVersion(crd *unstructured.Unstructured) bool {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var names []string
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if version["served"] != false {
			return false
		}
		names = append(names, fmt.Sprint(version["name"]))
	}
	stored, _, _ := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	unknown := slices.ContainsFunc(stored, func(name string) bool { return !slices.Contains(names, name) })
	return len(names) > 0 && !unknown
}

// notAvailableSince returns the time since when an APIService is not Available, in seconds since 1970, or 0 if it was
// never Available. ok is false if the APIService is Available, or if it names no Service.
func notAvailableSince(service *unstructured.Unstructured) (since int64, ok bool) {
	if backend, _, _ := unstructured.NestedMap(service.Object, "spec", "service"); backend == nil {
		return 0, false
	}
	conditions, _, _ := unstructured.NestedSlice(service.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["type"] != "Available" {
			continue
		}
		at, err := time.Parse(time.RFC3339, fmt.Sprint(condition["lastTransitionTime"]))
		if err != nil || condition["status"] != string(metav1.ConditionFalse) {
			return 0, false
		}
		if at.Sub(service.GetCreationTimestamp().Time) <= firstCheck {
			return 0, true
		}
		return at.Unix(), true
	}
	return 0, true
}
