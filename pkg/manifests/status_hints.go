package manifests

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/builtintypes"
)

// StatusHints describe how to read readiness from the status of a type that does not follow the API conventions.
type StatusHints struct {
	// HasObservedGeneration means that the type sets status.observedGeneration. The object is not ready without it.
	HasObservedGeneration bool
	// HasReadyCondition means that the type sets a condition Ready. The object is not ready without it.
	HasReadyCondition bool
	// Conditions are additional conditions that must be True.
	Conditions []string
}

// The names of status hints.
const (
	hintObservedGeneration = "has-observed-generation"
	hintReadyCondition     = "has-ready-condition"
	hintConditions         = "conditions"
)

// ParseStatusHints parses a comma-separated list of has-observed-generation, has-ready-condition and conditions=A;B.
// The returned error joins all errors; the valid hints are returned with it.
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
			errs = append(
				errs,
				fmt.Errorf(
					"%q is none of %s, %s, %s=A;B",
					part,
					hintObservedGeneration,
					hintReadyCondition,
					hintConditions,
				),
			)
		}
	}
	if slices.ContainsFunc(h.Conditions, func(c string) bool { return strings.TrimSpace(c) != c || c == "" }) {
		errs = append(errs, fmt.Errorf("%q names an empty condition; write %s=A;B", text, hintConditions))
	}
	return h, errors.Join(errs...)
}

// none reports whether there are no hints.
func (h StatusHints) none() bool {
	return !h.HasObservedGeneration && !h.HasReadyCondition && len(h.Conditions) == 0
}

// checkHints returns an error if an object has hints and its type has no status. With the hints, such an object would
// never become ready.
func checkHints(h StatusHints, gk schema.GroupKind, reconciler string) error {
	if h.none() || builtintypes.HasStatus(gk) {
		return nil
	}
	return fmt.Errorf(
		"annotation %s/%s: a %s has no status to read; remove the hint",
		reconciler,
		AnnotationStatusHint,
		gk.Kind,
	)
}
