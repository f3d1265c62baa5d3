package status

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func report(dependent, reason string) metav1alpha1.DependentReport {
	return metav1alpha1.DependentReport{Dependent: dependent, Reason: reason, Message: "why " + dependent}
}

func TestRepairConflictsKeepAComponentFromBeingReady(t *testing.T) {
	missing := result.Waiting{DependentReport: report("a", string(plan.WaitRepairConflict))}
	slow := result.Waiting{DependentReport: report("b", string(plan.WaitInProgress))}
	conflicts := []metav1alpha1.DependentReport{report("a", string(plan.WaitRepairConflict))}
	for _, c := range []struct {
		name    string
		outcome outcome.Outcome
		want    PassResult
	}{
		{"one that is there", outcome.Outcome{Outcome: result.Outcome{
			RepairConflicts: conflicts,
		}}, PassResult{metav1alpha1.StateProgressing, metav1alpha1.ReasonRepairConflict, "repair conflict: a (why a)"}},
		{
			"one that is missing, in the same words",
			outcome.Outcome{Outcome: result.Outcome{RepairConflicts: conflicts, Waiting: []result.Waiting{missing}}},
			PassResult{metav1alpha1.StateProgressing, metav1alpha1.ReasonRepairConflict, "repair conflict: a (why a)"},
		},
		{
			"not before others are ready",
			outcome.Outcome{Outcome: result.Outcome{RepairConflicts: conflicts, Waiting: []result.Waiting{slow}}},
			PassResult{metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentsNotReady, "waiting until ready: b (why b)"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ResultOf(manifests.Key{}, false, c.outcome, nil); got != c.want {
				t.Errorf("ResultOf returned the wrong result %+v", got)
			}
		})
	}
}

func TestReportsNameEachDependentOnce(t *testing.T) {
	o := outcome.Outcome{Outcome: result.Outcome{
		Waiting: []result.Waiting{
			{DependentReport: report("b", string(plan.WaitInProgress))},
			{DependentReport: report("a", string(plan.WaitRepairConflict))},
		},
		RepairConflicts: []metav1alpha1.DependentReport{
			report("a", string(plan.WaitRepairConflict)),
			report("c", string(plan.WaitRepairConflict)),
		},
	}}
	want := []metav1alpha1.DependentReport{
		report("b", string(plan.WaitInProgress)),
		report("a", string(plan.WaitRepairConflict)), report("c", string(plan.WaitRepairConflict)),
	}
	if diff := cmp.Diff(want, o.Reports()); diff != "" {
		t.Error(diff)
	}
}

func TestTheConditionRepairConflictLastsAsLongAsThereIsOne(t *testing.T) {
	var status metav1alpha1.Status
	is := func() bool {
		return meta.IsStatusConditionTrue(status.Conditions, metav1alpha1.ConditionRepairConflict)
	}
	now := time.Unix(1000, 0)
	conflicts := outcome.Outcome{Outcome: result.Outcome{
		RepairConflicts: []metav1alpha1.DependentReport{report("a", string(plan.WaitRepairConflict))},
	}}
	if setRepairConflicts(&status, Report{Generation: 1, Outcome: conflicts, Now: now}); !is() {
		t.Error("the condition RepairConflict is missing")
	}
	if setRepairConflicts(&status, Report{Generation: 1, Outcome: outcome.Outcome{}, Now: now}); is() {
		t.Error("the condition RepairConflict was not removed at the end of the repair conflict")
	}
	setRepairConflicts(&status, Report{Generation: 1, Outcome: conflicts, Now: now})
	if setResult(&status, 1, PassResult{State: metav1alpha1.StateSuspended}, now); is() {
		t.Error("the condition RepairConflict was not removed from a suspended component")
	}
}

func TestAConditionContestedOfAnEarlierVersionIsTakenOver(t *testing.T) {
	since, now := metav1.Unix(1000, 0), time.Unix(2000, 0)
	before := metav1alpha1.Status{
		State: metav1alpha1.StateProgressing,
		Conditions: []metav1.Condition{{
			Type: "Contested", Status: metav1.ConditionTrue, Reason: "DependentContested", LastTransitionTime: since,
		}},
		Waiting: []metav1alpha1.DependentReport{report("a", "Contested")},
	}
	conflict := result.Outcome{
		Inventory:       []metav1alpha1.InventoryEntry{},
		RepairConflicts: []metav1alpha1.DependentReport{report("a", string(plan.WaitRepairConflict))},
	}
	for _, c := range []struct {
		name    string
		outcome outcome.Outcome
		want    bool
	}{
		{"the conflict continues", outcome.Outcome{Outcome: conflict}, true},
		{"it is not known yet whether it does", outcome.Outcome{Outcome: result.Outcome{Observing: true}}, true},
		{"the conflict is over", outcome.Outcome{Outcome: result.Outcome{Inventory: conflict.Inventory}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			after, v := Next(before, Report{Generation: 1, Outcome: c.outcome, Now: now})
			if old := meta.FindStatusCondition(after.Conditions, "Contested"); old != nil {
				t.Errorf("the condition %+v was not replaced", old)
			}
			got := meta.FindStatusCondition(after.Conditions, metav1alpha1.ConditionRepairConflict)
			if c.want != (got != nil) {
				t.Fatalf("the wrong condition %+v", got)
			}
			if !c.want {
				return
			}
			if got.LastTransitionTime != since || got.Reason != metav1alpha1.ReasonRepairConflict {
				t.Errorf("the conflict has another beginning or reason: %+v", got)
			}
			if after.Waiting[0].Reason != result.ReportRepairConflict {
				t.Errorf("the wrong report %+v", after.Waiting[0])
			}
			if e := EventOf(&before, &after, nil, v); e != (Event{}) {
				t.Errorf("the conflict was reported again: %+v", e)
			}
		})
	}
	before.Conditions = append(before.Conditions, metav1.Condition{
		Type: metav1alpha1.ConditionRepairConflict, Status: metav1.ConditionTrue, Reason: metav1alpha1.ReasonRepairConflict,
		LastTransitionTime: metav1.Unix(500, 0),
	})
	t.Run("the status has both after a downgrade and another upgrade", func(t *testing.T) {
		after, _ := Next(before, Report{Generation: 1, Outcome: outcome.Outcome{Outcome: conflict}, Now: now})
		var times []metav1.Time
		for _, c := range after.Conditions {
			if c.Type == "Contested" || c.Type == metav1alpha1.ConditionRepairConflict {
				times = append(times, c.LastTransitionTime)
			}
		}
		if !slices.Equal(times, []metav1.Time{metav1.Unix(500, 0)}) {
			t.Errorf("the conditions have the times %v", times)
		}
	})
	if before.Conditions[0].Type != "Contested" || before.Waiting[0].Reason != "Contested" {
		t.Error("the status before was changed")
	}
}
