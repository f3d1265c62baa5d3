package settingtext

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// The names of status hints.
const (
	hintObservedGeneration = "has-observed-generation"
	hintReadyCondition     = "has-ready-condition"
	hintConditions         = "conditions"
)

// ParseStatusHints parses a comma-separated list of has-observed-generation, has-ready-condition and conditions=A;B.
// The returned error joins all errors; the valid hints are returned with it.
func ParseStatusHints(text string) (manifests.StatusHints, error) {
	var h manifests.StatusHints
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
