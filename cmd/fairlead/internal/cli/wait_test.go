package cli_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// No operator runs in these specs. They write the status themselves.

func progressing(waiting ...metav1alpha1.DependentReport) metav1alpha1.Status {
	return metav1alpha1.Status{
		State: metav1alpha1.StateProgressing, Revision: 1, Waiting: waiting,
		Conditions: readyCondition(metav1.ConditionFalse, metav1alpha1.ReasonDependentsNotReady, "waiting until ready"),
		Dependents: metav1alpha1.DependentCounts{Total: 2, Ready: 1},
	}
}

func allReady() metav1alpha1.Status {
	return metav1alpha1.Status{
		State: metav1alpha1.StateReady, Revision: 1,
		Dependents: metav1alpha1.DependentCounts{Total: 2, Ready: 2, Summary: "2/2"},
		Conditions: readyCondition(metav1.ConditionTrue, metav1alpha1.ReasonReady, "2 dependents are ready"),
	}
}

func stalled(message string) metav1alpha1.Status {
	conditions := readyCondition(metav1.ConditionFalse, metav1alpha1.ReasonDependentFailed, message)
	conditions = append(conditions, conditions[0])
	conditions[1].Type, conditions[1].Status = metav1alpha1.ConditionStalled, metav1.ConditionTrue
	return metav1alpha1.Status{State: metav1alpha1.StateStalled, Conditions: conditions}
}

var web = metav1alpha1.DependentReport{
	Wave: 1, Dependent: "Deployment.apps shop/web", Reason: "InProgress",
	Message: "Available: 0/2",
}

var _ = Describe("apply --wait", onCluster(func() {
	var namespace string
	BeforeEach(func(ctx SpecContext) { namespace = newNamespace(ctx) })

	// applying starts a command that waits for a component, and returns the process and the component.
	applying := func(ctx context.Context, args ...string) (*process, *v1alpha1.Component) {
		GinkgoHelper()
		p := start(ctx, namespace, append([]string{"apply", "shop", folder("web.yaml", ""), "--wait"}, args...)...)
		Eventually(ctx, p.out).Should(gbytes.Say("waiting for the operator\n"))
		return p, shopIn(ctx, namespace)
	}

	It("prints the progress with one watch until the component is ready", func(ctx SpecContext) {
		p, c := applying(ctx)
		report(ctx, c, progressing(web))
		Eventually(ctx, p.out).
			Should(gbytes.Say("1/2 ready, in wave 1\n" +
				"wave 1: waiting for Deployment.apps shop/web: InProgress: Available: 0/2\n"))
		report(ctx, c, allReady())
		Eventually(ctx, p.code).Should(Receive(Equal(0)))
		Expect(p.out).To(gbytes.Say("^ready: 2/2 dependents, revision 1\n$"))
		Expect(p.err.Contents()).To(BeEmpty())
		all := requests(ctx, namespace, "components")
		watches := all.Verb("watch")
		Expect(watches).NotTo(BeEmpty())
		// The API server may end or refuse a watch at any time. The command then reads the component at most once, and
		// watches again.
		interruptions := len(watches) - 1
		Expect(len(all.Verb("get", "list"))).To(And(BeNumerically(">=", 1), BeNumerically("<=", 1+interruptions)),
			"want one get before the apply, got %v", all)
	})

	It("ignores Ready of an earlier generation", func(ctx SpecContext) {
		p, c := applying(ctx)
		report(ctx, c, allReady())
		Eventually(ctx, p.code).Should(Receive(Equal(0)))
		second := start(ctx, namespace, "apply", "shop", folder("web.yaml", "# changed"), "--wait")
		Eventually(ctx, second.out).Should(gbytes.Say("waiting for the operator\n"))
		Consistently(second.code, 300*time.Millisecond).ShouldNot(Receive())
		report(ctx, shopIn(ctx, namespace), allReady())
		Eventually(ctx, second.code).Should(Receive(Equal(0)))
		unchanged := fairlead(ctx, namespace, "apply", "shop", folder("web.yaml", "# changed"), "--wait")
		Expect(unchanged.Code).To(Equal(0), "the command must succeed at once for a component that is Ready")
	})

	It("fails with the reason if the component is Stalled", func(ctx SpecContext) {
		p, c := applying(ctx)
		report(ctx, c, stalled("web/Deployment is forbidden"))
		Eventually(ctx, p.code).Should(Receive(Equal(1)))
		Expect(p.err).
			To(gbytes.Say("^fairlead: component.fairlead.io/shop is not ready: DependentFailed: web/Deployment is forbidden\n$"))
	})

	It("requests another attempt if nothing changed since the component failed", func(ctx SpecContext) {
		dir := folder("web.yaml", "")
		Expect(fairlead(ctx, namespace, "apply", "shop", dir).Code).To(Equal(0))
		report(ctx, shopIn(ctx, namespace), stalled("it was forbidden"))
		again := func(answer metav1alpha1.Status) *process {
			GinkgoHelper()
			p := start(ctx, namespace, "apply", "shop", dir, "--wait")
			Eventually(ctx, p.out).Should(gbytes.Say(
				"component.fairlead.io/shop unchanged\ncomponent.fairlead.io/shop reconcile requested\nthe operator has not " +
					"acknowledged the request yet\n"))
			c := shopIn(ctx, namespace)
			answer.LastHandledReconcileAt = c.Annotations["fairlead.io/reconcile-requested-at"]
			report(ctx, c, answer)
			return p
		}
		p := again(stalled("it is forbidden still"))
		Eventually(ctx, p.code).Should(Receive(Equal(1)))
		Expect(p.err).To(gbytes.Say("shop is not ready: DependentFailed: it is forbidden still\n"))
		p = again(allReady())
		Eventually(ctx, p.code).Should(Receive(Equal(0)))
	})

	It("explains how to resume a suspended component, and does not wait", func(ctx SpecContext) {
		dir := folder("web.yaml", "")
		Expect(fairlead(ctx, namespace, "apply", "shop", dir).Code).To(Equal(0))
		Expect(fairlead(ctx, namespace, "suspend", "shop").Code).To(Equal(0))
		idle := "component.fairlead.io/shop is suspended, so nothing is applied; to resume it, run: " +
			"fairlead resume -n " + namespace + " shop\n"
		r := fairlead(ctx, namespace, "apply", "shop", dir)
		Expect(r).To(Equal(result{Out: "component.fairlead.io/shop unchanged\n", Err: "warning: " + idle}))
		r = fairlead(ctx, namespace, "apply", "shop", dir, "--wait")
		Expect(r).To(Equal(result{Code: 1, Out: "component.fairlead.io/shop unchanged\n", Err: "fairlead: " + idle}))
	})

	It("names the dependents that are not ready after the timeout", func(ctx SpecContext) {
		p, c := applying(ctx)
		report(ctx, c, progressing(web))
		p.stop()
		Eventually(ctx, p.code).Should(Receive())
		r := fairlead(ctx, namespace, "apply", "shop", folder("web.yaml", ""), "--wait", "--timeout=200ms")
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(HaveSuffix(
			"fairlead: timed out after 200ms for component.fairlead.io/shop: waiting for Deployment.apps shop/web " +
				"(InProgress: Available: 0/2)\n"))
	})

	It("asks in its error whether an operator is running if no operator responds", func(ctx SpecContext) {
		r := fairlead(ctx, namespace, "apply", "shop", folder("web.yaml", ""), "--wait", "--timeout=300ms")
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(HaveSuffix("the operator has not observed generation 1 yet; is it running?\n"))
	})

	It("fails if the component is deleted during the wait", func(ctx SpecContext) {
		p, c := applying(ctx)
		Expect(k8s.Delete(ctx, c)).To(Succeed())
		Eventually(ctx, p.code).Should(Receive(Equal(1)))
		Expect(p.err).To(gbytes.Say("shop was deleted during the wait\n"))
	})

	It("ends when it is interrupted", func(ctx SpecContext) {
		p, c := applying(ctx)
		report(ctx, c, progressing(web))
		Eventually(ctx, p.out).Should(gbytes.Say("waiting for Deployment"))
		p.stop()
		Eventually(ctx, p.code).Should(Receive(Equal(130)))
		Expect(p.err).
			To(gbytes.Say("interrupted; the operator continues to work on component.fairlead.io/shop: waiting for Deployment"))
	})

	It("resumes an interrupted watch, and misses no change", func(ctx SpecContext) {
		cut := make(chan struct{})
		proxy := cuttingProxy(cut)
		p, c := applying(ctx, "--server="+proxy)
		report(ctx, c, progressing(web))
		Eventually(ctx, p.out).Should(gbytes.Say("waiting for Deployment"))
		cut <- struct{}{}
		report(ctx, c, allReady())
		Eventually(ctx, p.code).Should(Receive(Equal(0)))
		Expect(p.out).To(gbytes.Say("ready: 2/2"))
	})

	It("notices a deletion during an interruption of the watch, even if a new component has the name",
		func(ctx SpecContext) {
			cut := make(chan struct{})
			p, c := applying(ctx, "--server="+cuttingProxy(cut))
			cut <- struct{}{}
			Expect(k8s.Delete(ctx, c)).To(Succeed())
			held(ctx, namespace, "shop")
			Eventually(ctx, p.code).Should(Receive(Equal(1)))
			Expect(p.err).To(gbytes.Say("shop was deleted during the wait\n"))
		})

	It("has exit code 3 without the right to watch", func(ctx SpecContext) {
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "no-watch"}}
		role.Rules = []rbacv1.PolicyRule{{
			APIGroups: []string{"", "fairlead.io"}, Resources: []string{"*"},
			Verbs: []string{"get", "create", "patch", "list"},
		}}
		Expect(k8s.Create(ctx, role)).To(Succeed())
		Expect(k8s.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "no-watch"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "no-watch"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "jane"}},
		})).To(Succeed())
		Eventually(ctx, func() int { return fairlead(ctx, namespace, "list", "--as=jane").Code }).Should(Equal(0))
		r := fairlead(ctx, namespace, "apply", "shop", folder("web.yaml", ""), "--wait", "--as=jane")
		Expect(r.Code).To(Equal(3))
		Expect(r.Err).To(ContainSubstring(`cannot watch resource "components"`))
	})

	It("continues after the time-out of a single request", func(ctx SpecContext) {
		p, c := applying(ctx, "--request-timeout=1s")
		Consistently(p.code, 1500*time.Millisecond).ShouldNot(Receive())
		report(ctx, c, allReady())
		Eventually(ctx, p.code).Should(Receive(Equal(0)))
		Expect(requests(ctx, namespace, "components").Verb("watch")).To(HaveLen(1))
	})
}))
