package progress_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
)

// at returns a status of a generation with a Ready condition.
func at(
	generation int64, state metav1alpha1.State, ready metav1.ConditionStatus, reason, message string,
) metav1alpha1.Status {
	s := metav1alpha1.Status{ObservedGeneration: generation, State: state, Revision: generation}
	s.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionReady, Status: ready, Reason: reason, Message: message}}
	if state == metav1alpha1.StateStalled || state == metav1alpha1.StateDeletionBlocked {
		s.Conditions = append(s.Conditions,
			metav1.Condition{
				Type: metav1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: reason,
				Message: message,
			})
	}
	return s
}

func counting(
	s metav1alpha1.Status, ready, desired, total int32, waiting ...metav1alpha1.DependentReport,
) metav1alpha1.Status {
	s.Dependents = metav1alpha1.DependentCounts{Ready: ready, Total: total, Summary: fmt.Sprintf("%d/%d", ready, desired)}
	s.Waiting = waiting
	return s
}

func report(wave int32, dependent, reason, message string) metav1alpha1.DependentReport {
	return metav1alpha1.DependentReport{Wave: wave, Dependent: dependent, Reason: reason, Message: message}
}

// printed returns the lines that are printed for a sequence of reports.
func printed(reports ...progress.Report) []string {
	var all []string
	p := progress.Printed{}
	for _, r := range reports {
		all = append(all, p.New(r.Lines)...)
	}
	return all
}

var _ = Describe("OfApply", func() {
	notReady := func(ready int32, waiting ...metav1alpha1.DependentReport) metav1alpha1.Status {
		s := at(2, metav1alpha1.StateProgressing, metav1.ConditionFalse, metav1alpha1.ReasonDependentsNotReady,
			"waiting until ready: them")
		return counting(s, ready, 6, 6, waiting...)
	}

	It("reports the progress of an upgrade in lines, each of which is printed once", func() {
		web := report(1, "Deployment.apps shop/web", "InProgress", "Available: 0/2")
		job := report(1, "Job.batch shop/migrate", "InProgress", "Job in progress.\n1 active")
		old := counting(at(1, metav1alpha1.StateReady, metav1.ConditionTrue, metav1alpha1.ReasonReady,
			"6 dependents are ready"), 6, 6, 6)
		sequence := []metav1alpha1.Status{
			old,
			counting(at(2, metav1alpha1.StateProgressing, metav1.ConditionFalse, metav1alpha1.ReasonDependentsNotReady,
				"applying dependents"), 6, 6, 6),
			notReady(2, web, job),
			notReady(2, web, job),
			notReady(3, web),
			notReady(2, web, job),
			notReady(5, report(2, "Ingress.networking.k8s.io shop/web", "InProgress", "")),
			counting(at(2, metav1alpha1.StateProgressing, metav1.ConditionFalse, metav1alpha1.ReasonRetrying,
				"the webhook does not serve"), 5, 6, 6),
			counting(at(2, metav1alpha1.StateProgressing, metav1.ConditionFalse, metav1alpha1.ReasonDependentsNotGone,
				"waiting until deleted"), 6, 6, 7,
				report(-1, "Job.batch shop/migrate-old", "NotGone", "it is being deleted")),
			counting(at(2, metav1alpha1.StateReady, metav1.ConditionTrue, metav1alpha1.ReasonReady, "6 dependents are ready"), 6,
				6, 6),
		}
		var reports []progress.Report
		var results []progress.Result
		for _, s := range sequence {
			r := progress.OfApply(s, 2)
			reports, results = append(reports, r), append(results, r.Result)
		}
		Expect(printed(reports...)).To(Equal([]string{
			"waiting for the operator",
			"applying dependents",
			"2/6 ready, in wave 1",
			"wave 1: waiting for Deployment.apps shop/web: InProgress: Available: 0/2",
			"wave 1: waiting for Job.batch shop/migrate: InProgress: Job in progress. 1 active",
			"3/6 ready, in wave 1",
			"5/6 ready, in wave 2",
			"wave 2: waiting for Ingress.networking.k8s.io shop/web: InProgress",
			"Retrying: the webhook does not serve",
			"6/6 ready, pruning",
			"wave -1: waiting until Job.batch shop/migrate-old is deleted: NotGone: it is being deleted",
			"ready: 6/6 dependents, revision 2",
		}))
		Expect(results[:9]).To(HaveEach(progress.Waiting), "the condition Ready of an old generation must be ignored")
		Expect(results[9]).To(Equal(progress.Reached))
	})

	It("says whether nothing but types is missing", func() {
		web := report(1, "ScaledObject.keda.sh shop/web", metav1alpha1.ReasonKindNotServed, "it is not served")
		status := counting(at(2, metav1alpha1.StateProgressing, metav1.ConditionFalse, metav1alpha1.ReasonKindNotServed,
			"waiting until ready: …"), 1, 2, 1, web)
		Expect(progress.OfApply(status, 2)).To(Equal(progress.Report{
			Result: progress.Waiting, Unserved: true,
			Lines: []string{
				"1/2 ready, in wave 1",
				"wave 1: waiting for ScaledObject.keda.sh shop/web: KindNotServed: it is not served",
			},
			Summary: "waiting for ScaledObject.keda.sh shop/web (KindNotServed: it is not served)",
		}))
		Expect(progress.OfApply(status, 3).Unserved).To(BeFalse(),
			"the status is of a previous generation, so it must not show unserved types")
		Expect(progress.OfApply(notReady(1, web), 2).Unserved).To(BeFalse(),
			"an incomplete report must not state that the component waits only for unserved types")
	})

	DescribeTable("has verdict and summary for", func(s metav1alpha1.Status, want progress.Result, summary string) {
		r := progress.OfApply(s, 2)
		Expect(r.Result).To(Equal(want))
		Expect(r.Summary).To(Equal(summary))
	},
		Entry("a component that no operator has reconciled", metav1alpha1.Status{}, progress.Waiting,
			"the operator has not observed generation 2 yet; is it running?"),
		Entry("Stalled of an older generation",
			at(1, metav1alpha1.StateStalled, metav1.ConditionFalse, metav1alpha1.ReasonInvalidSpec, "old"), progress.Waiting,
			"the operator has not observed generation 2 yet; is it running?"),
		Entry("Stalled, with the reason",
			at(2, metav1alpha1.StateStalled, metav1.ConditionFalse, metav1alpha1.ReasonGenerateFailed,
				"templates/web.yaml:3:\nno value"), progress.Failed,
			"GenerateFailed: templates/web.yaml:3: no value"),
		Entry("Suspended, because the wait would never end",
			at(2, metav1alpha1.StateSuspended, metav1.ConditionUnknown, metav1alpha1.ReasonSuspended, ""), progress.Failed,
			"the component is suspended; fairlead resume resumes it"),
		Entry("dependents that are not ready, with their names",
			notReady(4, report(1, "Deployment.apps shop/web", "InProgress", "Available: 0/2"),
				report(1, "Job.batch shop/migrate", "InProgress", "")),
			progress.Waiting,
			"waiting for Deployment.apps shop/web (InProgress: Available: 0/2), Job.batch shop/migrate (InProgress)"),
		Entry("Ready of a newer generation",
			at(3, metav1alpha1.StateReady, metav1.ConditionTrue, metav1alpha1.ReasonReady, ""), progress.Reached, ""),
	)
})

var _ = Describe("OfDeletion", func() {
	deleting := func(total int32, waiting ...metav1alpha1.DependentReport) metav1alpha1.Status {
		s := at(3, metav1alpha1.StateDeleting, metav1.ConditionFalse, metav1alpha1.ReasonDeleting,
			"waiting until deleted: them")
		return counting(s, 0, 0, total, waiting...)
	}

	It("reports the progress in lines, and a blocker at once", func() {
		blocked := at(3, metav1alpha1.StateDeletionBlocked, metav1.ConditionFalse, metav1alpha1.ReasonForeignInstances,
			"deletion is refused, because 1 foreign instance of Widget.demo.example.com exists: team/mine; delete "+
				"these instances, "+
				"and the deletion continues")
		reports := []progress.Report{
			progress.OfDeletion(at(2, metav1alpha1.StateReady, metav1.ConditionTrue, metav1alpha1.ReasonReady, ""), 3),
			progress.OfDeletion(blocked, 3),
			progress.OfDeletion(blocked, 3),
			progress.OfDeletion(deleting(4, report(-1, "Deployment.apps shop/web", "Terminating", "it is being deleted")), 3),
			progress.OfDeletion(deleting(1, report(0, "Namespace shop", "NotGone", "")), 3),
			progress.OfDeletion(at(3, metav1alpha1.StateStalled, metav1.ConditionFalse, metav1alpha1.ReasonDependentFailed,
				"cannot be deleted: Namespace shop"), 3),
		}
		Expect(printed(reports...)).To(Equal([]string{
			"the operator has not started the deletion yet",
			"the deletion is blocked: ForeignInstances: deletion is refused, because 1 foreign instance of " +
				"Widget.demo.example.com exists: " +
				"team/mine; delete these instances, and the deletion continues",
			"deleting: 4 left",
			"wave -1: waiting until Deployment.apps shop/web is deleted: Terminating: it is being deleted",
			"deleting: 1 left",
			"wave 0: waiting until Namespace shop is deleted: NotGone",
			"DependentFailed: cannot be deleted: Namespace shop",
		}))
		Expect(reports[1].Result).To(Equal(progress.Blocked))
		Expect(reports[1].Summary).To(ContainSubstring("team/mine"))
		Expect(reports[3].Summary).To(Equal("waiting for Deployment.apps shop/web (Terminating: it is being deleted)"))
	})

	It("names each type that blocks a deletion once, if there are several", func() {
		blocked := at(3, metav1alpha1.StateDeletionBlocked, metav1.ConditionFalse, metav1alpha1.ReasonForeignInstances,
			"deletion is refused, because foreign instances of 2 types may exist")
		blocked.Blocked = []metav1alpha1.BlockReport{
			{Type: "Widget.example.com", Count: 2, Names: []string{"team/mine", "team/yours"}},
			{Type: "Gizmo.example.com", Message: "it cannot\nbe listed"},
		}
		Expect(progress.OfDeletion(blocked, 3).Lines).To(Equal([]string{
			"the deletion is blocked: ForeignInstances: deletion is refused, because foreign instances of 2 types may exist",
			"blocked by Widget.example.com: 2 instances: team/mine, team/yours",
			"blocked by Gizmo.example.com: it cannot be listed",
		}))
		blocked.Blocked = blocked.Blocked[:1]
		Expect(progress.OfDeletion(blocked, 3).Lines).To(HaveLen(1),
			"want one line, because the condition names a single type")
	})

	It("reports that it waits until a hook is complete, not until it is deleted", func() {
		s := at(3, metav1alpha1.StateDeleting, metav1.ConditionFalse, metav1alpha1.ReasonDeleting,
			"phase pre-delete: waiting until complete: Job.batch shop/backup (Job in progress)")
		s = counting(s, 0, 1, 5, report(0, "Job.batch shop/backup", "InProgress", "Job in progress"))
		r := progress.OfDeletion(s, 3)
		Expect(r.Lines).
			To(Equal([]string{"phase pre-delete: waiting until complete: Job.batch shop/backup (Job in progress)"}))
		Expect(r.Summary).To(Equal("waiting for Job.batch shop/backup (InProgress: Job in progress)"))
	})

	It("distinguishes dependents whose deletion failed from dependents that are being deleted", func() {
		s := deleting(2, report(0, "Deployment.apps shop/web", "NotGone", "pods may hold it"),
			report(0, "ConfigMap shop/a", "InternalError", "no"))
		Expect(progress.OfDeletion(s, 3).Lines).To(Equal([]string{
			"deleting: 2 left", "wave 0: waiting until Deployment.apps shop/web is deleted: NotGone: pods may hold it",
			"wave 0: waiting for ConfigMap shop/a: InternalError: no",
		}))
	})

	It("reports that finalizers of other controllers block the deletion", func() {
		s := at(3, metav1alpha1.StateDeleting, metav1.ConditionFalse, metav1alpha1.ReasonForeignFinalizers,
			"waiting for backup.example.com/hold")
		Expect(progress.OfDeletion(s, 3).Result).To(Equal(progress.Blocked))
	})
})
