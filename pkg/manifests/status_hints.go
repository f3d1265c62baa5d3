package manifests

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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

// None reports whether there are no hints.
func (h StatusHints) None() bool {
	return !h.HasObservedGeneration && !h.HasReadyCondition && len(h.Conditions) == 0
}
