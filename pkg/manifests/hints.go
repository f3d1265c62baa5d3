package manifests

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// StatusHints say of a type that does not follow the conventions how its status tells readiness.
type StatusHints struct {
	// HasObservedGeneration says that the type sets status.observedGeneration: until it does, the object is not ready.
	HasObservedGeneration bool
	// HasReadyCondition says that the type sets a condition Ready: until it does, the object is not ready.
	HasReadyCondition bool
	// Conditions are further conditions that must be True.
	Conditions []string
}

// The names of status hints.
const (
	hintObservedGeneration = "has-observed-generation"
	hintReadyCondition     = "has-ready-condition"
	hintConditions         = "conditions"
)

// ParseStatusHints reads the text form: a comma-separated list of has-observed-generation, has-ready-condition and conditions=A;B. All
// errors are joined; the hints that could be read are returned beside them.
func ParseStatusHints(text string) (StatusHints, error) {
	var h StatusHints
	var errs []error
	for part := range strings.SplitSeq(text, ",") {
		name, value, hasValue := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case name == hintObservedGeneration && !hasValue:
			h.HasObservedGeneration = true
		case name == hintReadyCondition && !hasValue:
			h.HasReadyCondition = true
		case name == hintConditions && value != "":
			h.Conditions = append(h.Conditions, strings.Split(value, ";")...)
		default:
			errs = append(errs, fmt.Errorf("%q is none of %s, %s, %s=A;B", part, hintObservedGeneration, hintReadyCondition, hintConditions))
		}
	}
	if slices.ContainsFunc(h.Conditions, func(c string) bool { return strings.TrimSpace(c) != c || c == "" }) {
		errs = append(errs, fmt.Errorf("%q names an empty condition; write %s=A;B", text, hintConditions))
	}
	return h, errors.Join(errs...)
}

// none says that nothing is hinted at.
func (h StatusHints) none() bool {
	return !h.HasObservedGeneration && !h.HasReadyCondition && len(h.Conditions) == 0
}

// checkHints refuses hints on the status of objects that have none: they would never become ready.
func checkHints(h StatusHints, gk schema.GroupKind, reconciler string) error {
	if h.none() || HasStatus(gk) {
		return nil
	}
	return fmt.Errorf("annotation %s/%s: a %s has no status to read; remove the hint", reconciler, AnnotationStatusHint, gk.Kind)
}
