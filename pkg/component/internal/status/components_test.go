package status

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

func TestReportsOnOtherComponentsComeFirstAndEndWithTheWait(t *testing.T) {
	var dependents []metav1alpha1.DependentReport
	for i := range MaxReports {
		dependents = append(dependents, report(fmt.Sprintf("ConfigMap shop/%d", i), "InProgress"))
	}
	components := []metav1alpha1.DependentReport{
		report("Part shop/db", result.ReportComponentNotReady), report("Part shop/web", result.ReportDependedOn),
	}
	failure := &passerror.Error{
		Reason: metav1alpha1.ReasonDependencyNotReady, Terminal: true, Waits: true, Components: components,
	}
	before := metav1alpha1.Status{Waiting: dependents}
	waiting, _ := Next(before, Report{Failure: failure, Now: time.Unix(0, 0)})
	want := append(components[:2:2], dependents[:MaxReports-2]...)
	if diff := cmp.Diff(want, waiting.Waiting); diff != "" {
		t.Errorf("the reports differ:\n%s", diff)
	}
	again, _ := Next(waiting, Report{Failure: failure, Now: time.Unix(0, 0)})
	if diff := cmp.Diff(want, again.Waiting); diff != "" {
		t.Errorf("another pass changes the reports:\n%s", diff)
	}
	other := &passerror.Error{Reason: metav1alpha1.ReasonForbidden, Terminal: true}
	ended, _ := Next(waiting, Report{Failure: other, Now: time.Unix(0, 0)})
	if diff := cmp.Diff(dependents[:MaxReports-2], ended.Waiting); diff != "" {
		t.Errorf("after the wait, the reports differ:\n%s", diff)
	}
}
