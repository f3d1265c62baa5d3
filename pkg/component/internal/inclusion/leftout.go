package inclusion

import (
	"fmt"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/expression"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// The reasons of reports on objects that are left out.
const (
	// ReasonExcluded: the condition include-when is false.
	ReasonExcluded = result.ReportExcluded
	// ReasonInactive: the condition active-when is false.
	ReasonInactive = result.ReportInactive
)

// maxLeftOut is the maximum number of reports on objects that are left out.
const maxLeftOut = 10

// leftOut returns reports on the first objects of the set that are excluded or inactive. An object with several
// occurrences is reported once.
func (e *evaluation) leftOut() []metav1alpha1.DependentReport {
	var reports []metav1alpha1.DependentReport
	for i := range e.set {
		r, o := e.result(i), &e.set[i]
		if !r.excluded && !r.inactive() || o.Occurrence > 0 {
			continue
		}
		reason := ReasonExcluded
		if !r.excluded {
			reason = ReasonInactive
		}
		reports = append(reports, metav1alpha1.DependentReport{
			Dependent: o.Key.String(), Wave: int32(o.Settings.Order), Reason: reason, Message: e.describe(i),
		})
		if len(reports) == maxLeftOut {
			break
		}
	}
	return reports
}

// describe says why an object is left out: which condition is false, and with which values; or because of which other
// object.
func (e *evaluation) describe(i int) string {
	r := e.result(i)
	if r.by == nil {
		return "its " + e.falseCondition(i)
	}
	root := *r.by
	text := fmt.Sprintf("it depends on %s, which is left out", e.set[root].Key)
	if e.result(root).by == nil {
		return text + ": its " + e.falseCondition(root)
	}
	for e.result(root).by != nil {
		root = *e.result(root).by
	}
	return fmt.Sprintf("%s because of %s: its %s", text, e.set[root].Key, e.falseCondition(root))
}

// falseCondition describes the condition of an object that is false, with the values that it read.
func (e *evaluation) falseCondition(i int) string {
	c := e.set[i].Settings.Conditions
	annotation, text := manifests.AnnotationIncludeWhen, c.Include
	var seen []string
	e.readExports(c.Exports)
	if e.result(i).inactive() {
		annotation, text = manifests.AnnotationActiveWhen, c.Active
		_, _ = e.isActive(c)
		for _, kind := range e.missing {
			seen = append(seen, fmt.Sprintf("the API server does not serve %s", kind))
		}
	}
	program, err := e.compile(annotation, text)
	if err != nil {
		return fmt.Sprintf("condition %s is false", annotation)
	}
	if values := program.SeenWithout(e.variables, e.isHidden); values != "" {
		seen = append(seen, values)
	}
	message := fmt.Sprintf("condition %s is false: %s", annotation, program.Shortened())
	if len(seen) > 0 {
		message += " (" + strings.Join(seen, ", ") + ")"
	}
	return message
}

// isHidden reports whether messages must not show the value of a path, such as exports.host. Exported values are never
// values of Secrets, because conditions that read such exports are refused.
func (e *evaluation) isHidden(path string) bool {
	switch variable, _, _ := strings.Cut(path, "."); variable {
	case expression.VariableComponent, expression.VariableExports:
		return false
	case expression.VariableParameters:
		return e.in.Hidden == nil || e.in.Hidden(path)
	}
	return true
}
