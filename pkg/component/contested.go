package component

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// ReportContested is the reason of a report on a dependent whose repairs somebody undoes again and again.
const ReportContested = plan.WaitContested

// contestedVerdict is that of a component whose dependents would all be as desired, if somebody did not undo the repairs of some. It is on its
// way, because the other may stop, and its timeout tells that he does not.
func contestedVerdict(o Outcome) verdict {
	return verdict{metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentContested, describeContested(o)}
}

func describeContested(o Outcome) string {
	contested := make([]Waiting, 0, len(o.Contested))
	for _, c := range o.Contested {
		contested = append(contested, Waiting{DependentReport: c})
	}
	return describe("contested", contested)
}

// onlyContested says that nobody is waited for but dependents that are missing because somebody deletes them again and again.
func onlyContested(o Outcome) bool {
	return len(o.Contested) > 0 && !slices.ContainsFunc(o.Waiting, func(w Waiting) bool { return w.Reason != plan.WaitContested })
}

// reports are the dependents that keep a component from being ready, each once.
func (o Outcome) reports() []metav1alpha1.DependentReport {
	reports, named := make([]metav1alpha1.DependentReport, 0, len(o.Waiting)), map[string]bool{}
	for _, w := range o.Waiting {
		reports = append(reports, w.DependentReport)
		named[w.Dependent] = true
	}
	for _, c := range o.Contested {
		if !named[c.Dependent] {
			reports = append(reports, c)
		}
	}
	return reports
}

// enterContested makes the condition name the contested dependents, as long as there are any.
func enterContested(status *metav1alpha1.Status, generation int64, o Outcome, now time.Time) {
	if len(o.Contested) == 0 {
		meta.RemoveStatusCondition(&status.Conditions, metav1alpha1.ConditionContested)
		return
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: metav1alpha1.ConditionContested, Status: metav1.ConditionTrue, Reason: metav1alpha1.ReasonDependentContested,
		Message: condition.Message(describeContested(o)), ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
	})
}
