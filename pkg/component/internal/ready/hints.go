package ready

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Hints say how the status of an object tells readiness, where its type does not follow the conventions.
type Hints struct {
	// HasObservedGeneration says that the object is not ready before it has status.observedGeneration.
	HasObservedGeneration bool
	// HasReadyCondition says that it is not ready before its condition Ready is True.
	HasReadyCondition bool
	// Conditions must be True, too. Empty names count for nothing.
	Conditions []string
}

// The conditions from which kstatus reads readiness off objects of any type.
const (
	conditionReady   = "Ready"
	conditionStalled = "Stalled"
)

// missing says what an object lacks that the hints ask for; "" if it lacks nothing.
func (h Hints) missing(obj *unstructured.Unstructured) string {
	if h.HasObservedGeneration {
		if _, found, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration"); !found || err != nil {
			return "its controller has not looked at it yet: it has no status.observedGeneration"
		}
	}
	wanted := h.Conditions
	if h.HasReadyCondition {
		wanted = append([]string{conditionReady}, wanted...)
	}
	for _, kind := range wanted {
		if kind == "" {
			continue
		}
		if holds, message := isTrue(obj, kind); !holds {
			return message
		}
	}
	return ""
}

// isTrue says whether a condition is true for the current generation, and what the object says of it where it is not.
func isTrue(obj *unstructured.Unstructured, kind string) (holds bool, message string) {
	condition, err := findCondition(obj, kind)
	switch {
	case err != nil:
		return false, fmt.Sprintf("its conditions cannot be understood: %v", err)
	case condition == nil:
		return false, fmt.Sprintf("not %s yet", kind)
	case isOutdated(obj, condition):
		return false, outdatedMessage(obj, condition)
	}
	text, _ := condition["message"].(string)
	return condition["status"] == "True", fmt.Sprintf("not %s yet: %s", kind, text)
}

// outdated says that readiness would be read off a condition that was set for an older generation; "" if it would not. That an object is not
// stalled nobody has to say again.
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
	return fmt.Sprintf("its condition %v is about generation %v, and it is at %d", condition["type"], condition["observedGeneration"], obj.GetGeneration())
}

// isOutdated says that a condition names the generation that it is about, and that it is not the current one.
func isOutdated(obj *unstructured.Unstructured, condition map[string]any) bool {
	about, found, err := unstructured.NestedInt64(condition, "observedGeneration")
	return found && err == nil && about < obj.GetGeneration()
}

// findCondition returns a condition, which is only read; nil where there is none.
func findCondition(obj *unstructured.Unstructured, kind string) (map[string]any, error) {
	field, found, err := unstructured.NestedFieldNoCopy(obj.Object, "status", "conditions")
	if !found || err != nil {
		return nil, err
	}
	conditions, ok := field.([]any)
	if !ok {
		return nil, fmt.Errorf("status.conditions is no list, but %T", field)
	}
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == kind {
			return condition, nil
		}
	}
	return nil, nil
}
