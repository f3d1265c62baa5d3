package outcome

import (
	"slices"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

func report(name string) metav1alpha1.DependentReport {
	return metav1alpha1.DependentReport{Dependent: "ConfigMap shop/" + name}
}

func TestDone(t *testing.T) {
	for _, c := range []struct {
		name    string
		outcome Outcome
		want    bool
	}{
		{"nothing is left to do", Outcome{Outcome: result.Outcome{Applied: true}}, true},
		{
			"a pass does not wait for a repair conflict",
			Outcome{Outcome: result.Outcome{RepairConflicts: []metav1alpha1.DependentReport{report("a")}}},
			true,
		},
		{"the first list is under way", Outcome{Outcome: result.Outcome{Observing: true}}, false},
		{"the pass waits for a dependent", Outcome{Outcome: result.Outcome{Waiting: []result.Waiting{{}}}}, false},
		{"foreign instances block the deletion", Outcome{Outcome: result.Outcome{Blocked: []result.Blocked{{}}}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.outcome.Done(); got != c.want {
				t.Errorf("Done returned %t, want the opposite", got)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	waiting := result.Waiting{DependentReport: report("waiting")}
	failed := result.Waiting{DependentReport: report("failed"), Failed: true}
	terminal := result.Waiting{DependentReport: report("terminal"), Failed: true, Terminal: true}
	all, hopeless := Outcome{Outcome: result.Outcome{Waiting: []result.Waiting{waiting, failed, terminal}}}.Failures()
	if !slices.Equal(all, []result.Waiting{failed, terminal}) || !slices.Equal(hopeless, []result.Waiting{terminal}) {
		t.Errorf("the failed dependents are %v, and the terminal failures %v", all, hopeless)
	}
	if all, hopeless = (Outcome{Outcome: result.Outcome{
		Waiting: []result.Waiting{waiting},
	}}).Failures(); len(all)+len(hopeless) != 0 {
		t.Errorf("the failed dependents are %v, and the terminal failures %v", all, hopeless)
	}
}

func TestReportsNameEachDependentOnce(t *testing.T) {
	waiting := report("both")
	waiting.Reason = "NotReady"
	conflict := report("both")
	conflict.Reason = "RepairConflict"
	got := Outcome{Outcome: result.Outcome{
		Waiting:         []result.Waiting{{DependentReport: report("waiting")}, {DependentReport: waiting}},
		RepairConflicts: []metav1alpha1.DependentReport{conflict, report("conflict")},
	}}.Reports()
	if want := []metav1alpha1.DependentReport{report("waiting"), waiting, report("conflict")}; !slices.Equal(got, want) {
		t.Errorf("the reports of the outcome are %v, want %v", got, want)
	}
	if got := (Outcome{}).Reports(); got == nil || len(got) != 0 {
		t.Errorf("Reports of an empty outcome must be empty and not nil, got %v", got)
	}
}

func TestUnlisted(t *testing.T) {
	if (result.Blocked{Count: 1}).Unlisted() || !(result.Blocked{Error: "refused"}).Unlisted() {
		t.Error("Unlisted must return true if and only if Error is set")
	}
}
