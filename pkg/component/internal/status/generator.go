package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// maxResults is the maximum number of generator messages in the condition.
const maxResults = 10

// WithGeneratorResults returns the status with a condition that shows the messages which a generator reported during a
// rendering, warnings first. If there are no messages, the condition is removed.
func WithGeneratorResults(
	before metav1alpha1.Status, results []generator.Result, generation int64, now time.Time,
) metav1alpha1.Status {
	next := before
	next.Conditions = slices.Clone(before.Conditions)
	reason := metav1alpha1.ReasonInformation
	var warnings, rest []string
	for _, result := range results {
		if result.Severity == generator.SeverityWarning {
			reason = metav1alpha1.ReasonWarning
			warnings = append(warnings, result.String())
			continue
		}
		rest = append(rest, result.String())
	}
	all := append(warnings, rest...)
	message := strings.Join(all[:min(len(all), maxResults)], "; ")
	if more := len(all) - maxResults; more > 0 {
		message += fmt.Sprintf("; and %d more", more)
	}
	set := conditionSetter(&next, generation, reason, message, now)
	set(metav1alpha1.ConditionGeneratorResults, metav1.ConditionTrue, len(all) > 0)
	return next
}

// WithPinnedValues returns the status with a condition for a rendering with pinned values. A rendering contains pinned
// values if each rendering would give other values for some fields. note names these fields. For a deterministic
// rendering note is empty, and the condition is removed.
func WithPinnedValues(before metav1alpha1.Status, note string, generation int64, now time.Time) metav1alpha1.Status {
	next := before
	next.Conditions = slices.Clone(before.Conditions)
	message := "a second rendering gives other values, those of the first are kept until the inputs change: " + note
	set := conditionSetter(&next, generation, metav1alpha1.ReasonValuesKept, message, now)
	set(metav1alpha1.ConditionNonDeterministic, metav1.ConditionTrue, note != "")
	return next
}
