package ready

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Hints describe how the status of an object shows its readiness, for types that do not follow the conventions of
// kstatus.
type Hints struct {
	// HasObservedGeneration is set if an object without status.observedGeneration is not ready.
	HasObservedGeneration bool
	// HasReadyCondition is set if an object is not ready until its condition Ready is True.
	HasReadyCondition bool
	// Conditions are the types of further conditions that must be True. Empty types are ignored.
	Conditions []string
}

// The conditions by which kstatus computes the readiness of objects of any type.
const (
	conditionReady   = "Ready"
	conditionStalled = "Stalled"
)

// Missing returns a message about the first requirement of the hints that an object does not meet. The message is empty
// if the object meets all requirements.
func (h Hints) Missing(obj *unstructured.Unstructured) string {
	if h.HasObservedGeneration {
		if _, found, err := unstructured.NestedFieldNoCopy(obj.Object, "status", "observedGeneration"); !found || err != nil {
			return "its controller has not processed it yet: it has no status.observedGeneration"
		}
	}
	for _, kind := range h.kinds() {
		if holds, message := isTrue(obj, kind); !holds {
			return message
		}
	}
	return ""
}

// kinds returns the types of the conditions that must be true.
func (h Hints) kinds() []string {
	kinds := slices.DeleteFunc(slices.Clone(h.Conditions), func(kind string) bool { return kind == "" })
	if h.HasReadyCondition {
		kinds = append([]string{conditionReady}, kinds...)
	}
	return kinds
}

// decide reports whether the hints name conditions, and the conditions of the object can be read. If so, the named
// conditions determine the readiness of an object whose status kstatus cannot read.
func (h Hints) decide(obj *unstructured.Unstructured) bool {
	_, err := findCondition(obj, conditionReady)
	return len(h.kinds()) > 0 && err == nil
}

// isTrue reports whether a condition is true for the current generation. If the condition is not true, message explains
// that.
func isTrue(obj *unstructured.Unstructured, kind string) (holds bool, message string) {
	condition, err := findCondition(obj, kind)
	switch {
	case err != nil:
		return false, fmt.Sprintf("its conditions cannot be read: %v", err)
	case condition == nil:
		return false, fmt.Sprintf("not %s yet", kind)
	case isOutdated(obj, condition):
		return false, outdatedMessage(obj, condition)
	}
	text, _ := condition["message"].(string)
	return condition["status"] == "True", fmt.Sprintf("not %s yet: %s", kind, text)
}

// outdated returns a message if kstatus uses a condition that was set for an older generation, and an empty string
// otherwise. outdated ignores a condition Stalled that is not True, because kstatus does not use such a condition.
func outdated(obj *unstructured.Unstructured) string {
	for _, kind := range []string{conditionReady, conditionStalled} {
		condition, err := findCondition(obj, kind)
		if err != nil || condition == nil || kind == conditionStalled && condition["status"] != "True" {
			continue
		}
		if isOutdated(obj, condition) {
			return outdatedMessage(obj, condition)
		}
	}
	return ""
}

func outdatedMessage(obj *unstructured.Unstructured, condition map[string]any) string {
	return fmt.Sprintf("its condition %v was set for generation %v, but the object is at generation %d",
		condition["type"], condition["observedGeneration"], obj.GetGeneration())
}

// isOutdated reports whether the observed generation of a condition is older than the generation of the object.
func isOutdated(obj *unstructured.Unstructured, condition map[string]any) bool {
	observed, found, err := unstructured.NestedInt64(condition, "observedGeneration")
	return found && err == nil && observed < obj.GetGeneration()
}

// findCondition returns the condition with the given type, or nil if there is no such condition. The caller must not
// change the result.
func findCondition(obj *unstructured.Unstructured, kind string) (map[string]any, error) {
	field, found, err := unstructured.NestedFieldNoCopy(obj.Object, "status", "conditions")
	if !found || err != nil {
		return nil, err
	}
	conditions, ok := field.([]any)
	if !ok {
		return nil, fmt.Errorf("status.conditions is %T, not a list", field)
	}
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == kind {
			return condition, nil
		}
	}
	return nil, nil
}
