package component

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func report(dependent, reason string) metav1alpha1.DependentReport {
	return metav1alpha1.DependentReport{Dependent: dependent, Reason: reason, Message: "why " + dependent}
}

func TestContestedDependentsKeepAComponentFromBeingReady(t *testing.T) {
	missing := Waiting{DependentReport: report("a", ReportContested)}
	slow := Waiting{DependentReport: report("b", plan.WaitInProgress)}
	contested := []metav1alpha1.DependentReport{report("a", ReportContested)}
	for _, c := range []struct {
		name    string
		outcome Outcome
		want    verdict
	}{
		{"one that is there", Outcome{Contested: contested}, verdict{metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentContested, "contested: a (why a)"}},
		{
			"one that is missing, in the same words",
			Outcome{Contested: contested, Waiting: []Waiting{missing}},
			verdict{metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentContested, "contested: a (why a)"},
		},
		{
			"not before others are ready",
			Outcome{Contested: contested, Waiting: []Waiting{slow}},
			verdict{metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentsNotReady, "waiting until ready: b (why b)"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := judge(false, c.outcome, nil); got != c.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestReportsNameEachDependentOnce(t *testing.T) {
	o := Outcome{
		Waiting:   []Waiting{{DependentReport: report("b", plan.WaitInProgress)}, {DependentReport: report("a", ReportContested)}},
		Contested: []metav1alpha1.DependentReport{report("a", ReportContested), report("c", ReportContested)},
	}
	want := []metav1alpha1.DependentReport{report("b", plan.WaitInProgress), report("a", ReportContested), report("c", ReportContested)}
	if diff := cmp.Diff(want, o.reports()); diff != "" {
		t.Error(diff)
	}
}

func TestTheConditionContestedLastsAsLongAsThereIsOne(t *testing.T) {
	var status metav1alpha1.Status
	is := func() bool { return meta.IsStatusConditionTrue(status.Conditions, metav1alpha1.ConditionContested) }
	now := time.Unix(1000, 0)
	contested := Outcome{Contested: []metav1alpha1.DependentReport{report("a", ReportContested)}}
	if enterContested(&status, 1, contested, now); !is() {
		t.Error("it is missing")
	}
	if enterContested(&status, 1, Outcome{}, now); is() {
		t.Error("it stays when there is none any more")
	}
	enterContested(&status, 1, contested, now)
	if summarise(&status, 1, verdict{state: metav1alpha1.StateSuspended}, now); is() {
		t.Error("it stays while the component is suspended")
	}
}

func TestWhatIsRememberedOfRepairs(t *testing.T) {
	var book repairBook
	key := manifests.Key{Kind: "ConfigMap", Name: "a"}
	repairs := map[manifests.Key]plan.Repairs{key: {Digest: "d"}}
	book.keep("one", "x", repairs)
	delete(repairs, key)
	if got := book.known("one", "x"); len(got) != 1 {
		t.Errorf("got %v, want what was kept", got)
	}
	if got := book.known("one", "y"); len(got) != 0 {
		t.Errorf("got %v although somebody insists", got)
	}
	if got := book.known("two", "x"); len(got) != 0 {
		t.Errorf("got %v of another owner", got)
	}
	if book.forget("one"); len(book.owners) != 0 {
		t.Errorf("%v is left of an owner that is gone", book.owners)
	}
	book.keep("one", "x", nil)
	if len(book.owners) != 0 {
		t.Errorf("%v is left of an owner of whom nothing is to be remembered", book.owners)
	}
}
