package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func report(dependent, reason string) metav1alpha1.DependentReport {
	return metav1alpha1.DependentReport{Dependent: dependent, Reason: reason, Message: "why " + dependent}
}

func TestContestedDependentsKeepAComponentFromBeingReady(t *testing.T) {
	missing := result.Waiting{DependentReport: report("a", string(plan.WaitRepairConflict))}
	slow := result.Waiting{DependentReport: report("b", string(plan.WaitInProgress))}
	contested := []metav1alpha1.DependentReport{report("a", string(plan.WaitRepairConflict))}
	for _, c := range []struct {
		name    string
		outcome outcome.Outcome
		want    Verdict
	}{
		{"one that is there", outcome.Outcome{Outcome: result.Outcome{
			RepairConflicts: contested,
		}}, Verdict{metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentContested, "contested: a (why a)"}},
		{
			"one that is missing, in the same words",
			outcome.Outcome{Outcome: result.Outcome{RepairConflicts: contested, Waiting: []result.Waiting{missing}}},
			Verdict{metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentContested, "contested: a (why a)"},
		},
		{
			"not before others are ready",
			outcome.Outcome{Outcome: result.Outcome{RepairConflicts: contested, Waiting: []result.Waiting{slow}}},
			Verdict{metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentsNotReady, "waiting until ready: b (why b)"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Judge(manifests.Key{}, false, c.outcome, nil); got != c.want {
				t.Errorf("Judge returned the wrong verdict %+v", got)
			}
		})
	}
}

func TestReportsNameEachDependentOnce(t *testing.T) {
	o := outcome.Outcome{Outcome: result.Outcome{
		Waiting:         []result.Waiting{{DependentReport: report("b", string(plan.WaitInProgress))}, {DependentReport: report("a", string(plan.WaitRepairConflict))}},
		RepairConflicts: []metav1alpha1.DependentReport{report("a", string(plan.WaitRepairConflict)), report("c", string(plan.WaitRepairConflict))},
	}}
	want := []metav1alpha1.DependentReport{report("b", string(plan.WaitInProgress)), report("a", string(plan.WaitRepairConflict)), report("c", string(plan.WaitRepairConflict))}
	if diff := cmp.Diff(want, o.Reports()); diff != "" {
		t.Error(diff)
	}
}

func TestTheConditionContestedLastsAsLongAsThereIsOne(t *testing.T) {
	var status metav1alpha1.Status
	is := func() bool { return meta.IsStatusConditionTrue(status.Conditions, metav1alpha1.ConditionContested) }
	now := time.Unix(1000, 0)
	contested := outcome.Outcome{Outcome: result.Outcome{
		RepairConflicts: []metav1alpha1.DependentReport{report("a", string(plan.WaitRepairConflict))},
	}}
	if setRepairConflicts(&status, Report{Generation: 1, Outcome: contested, Now: now}); !is() {
		t.Error("the condition Contested is missing")
	}
	if setRepairConflicts(&status, Report{Generation: 1, Outcome: outcome.Outcome{}, Now: now}); is() {
		t.Error("the condition Contested was not removed at the end of the repair conflict")
	}
	setRepairConflicts(&status, Report{Generation: 1, Outcome: contested, Now: now})
	if setVerdict(&status, 1, Verdict{State: metav1alpha1.StateSuspended}, now); is() {
		t.Error("the condition Contested was not removed from a suspended component")
	}
}
