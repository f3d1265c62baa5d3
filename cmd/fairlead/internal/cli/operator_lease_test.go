package cli_test

import (
	"context"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/leader"
)

// leaseIn creates a namespace with the Lease of an operator, which the commands of this spec read.
func leaseIn(ctx context.Context, at time.Time, watched ...string) (namespace string) {
	GinkgoHelper()
	namespace = "operator-" + strconv.FormatInt(sequence.Add(1), 10)
	holdLease(ctx, namespace, at, watched...)
	GinkgoT().Setenv("FAIRLEAD_OPERATOR_NAMESPACE", namespace)
	return namespace
}

// readyShop creates a component whose status says Ready.
func readyShop(ctx context.Context, namespace string) {
	GinkgoHelper()
	Expect(fairlead(ctx, namespace, "apply", "shop", folder("web.yaml", "")).Code).To(Equal(0))
	report(ctx, shopIn(ctx, namespace), metav1alpha1.Status{
		State: metav1alpha1.StateReady, Dependents: metav1alpha1.DependentCounts{Total: 10, Ready: 10},
		Conditions: readyCondition(metav1.ConditionTrue, "Ready", "10 dependents are ready"),
	})
}

var _ = Describe("A status without an operator:", onCluster(func() {
	It("is not Ready if no operator holds the Lease, in status, list and tree", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		readyShop(ctx, namespace)
		Expect(fairlead(ctx, namespace, "status", "shop").Code).To(Equal(0))

		operator := leaseIn(ctx, time.Now().Add(-3*time.Minute))
		absent := "no operator has held the Lease " + operator + "/fairlead-operator for 3m"
		r := fairlead(ctx, namespace, "status", "shop")
		Expect(r.Code).To(Equal(1))
		Expect(r.Out).To(ContainSubstring("Operator:    " + absent))
		r = fairlead(ctx, namespace, "status", "shop", "-o", "json")
		Expect(r.Code).To(Equal(1))
		Expect(r.Out).To(MatchRegexp(`"operator": {\s+"state": "Absent",\s+"message": "` + absent))
		for _, command := range [][]string{{"list"}, {"tree", "shop"}} {
			r = fairlead(ctx, namespace, command...)
			Expect(r.Err).To(ContainSubstring("warning: "+absent), "%v", command)
		}
	})

	It("is not Ready if the clock of this machine is behind, and no operator renews the Lease", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		readyShop(ctx, namespace)
		leaseIn(ctx, time.Now().Add(time.Hour))
		r := fairlead(ctx, namespace, "status", "shop")
		Expect(r.Code).To(Equal(1))
		Expect(r.Out).To(MatchRegexp(`Operator: +no operator has held the Lease \S+ for 5s`))
	})

	It("does not satisfy a wait", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		readyShop(ctx, namespace)
		operator := leaseIn(ctx, time.Now().Add(-3*time.Minute))
		absent := "no operator has held the Lease " + operator + "/fairlead-operator for 3m"
		r := fairlead(ctx, namespace, "resume", "shop", "--wait")
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(And(ContainSubstring("warning: "+absent), ContainSubstring("has an old status: "+absent)))
	})

	It("is told by the commands that do not wait", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		readyShop(ctx, namespace)
		c := shopIn(ctx, namespace)
		c.Finalizers = []string{"example.com/keep"}
		Expect(k8s.Update(ctx, c)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			c := shopIn(ctx, namespace)
			c.Finalizers = nil
			Expect(k8s.Update(ctx, c)).To(Succeed())
		})
		operator := leaseIn(ctx, time.Now().Add(-3*time.Minute))
		absent := "warning: nothing happens before an operator runs: no operator has held the Lease " + operator +
			"/fairlead-operator for 3m"
		for _, command := range [][]string{
			{"apply", "shop", folder("web.yaml", settingsFile("web", "{}"))},
			{"reconcile", "shop"},
			{"resume", "shop"},
			{"delete", "shop"},
		} {
			r := fairlead(ctx, namespace, command...)
			Expect(r).To(And(HaveField("Code", 0), HaveField("Err", HavePrefix(absent))), "%v", command)
		}
	})

	It("is trusted although the clocks differ, if the operator renews the Lease", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		readyShop(ctx, namespace)
		operator := leaseIn(ctx, time.Now().Add(-time.Hour))
		p := start(ctx, namespace, "status", "shop")
		renew(ctx, operator, time.Now().Add(-time.Hour+2*time.Second))
		Eventually(p.code).Should(Receive(Equal(0)))
	})

	It("is old if the operator does not watch the namespace of the component", func(ctx SpecContext) {
		namespace, other := newNamespace(ctx), newNamespace(ctx)
		readyShop(ctx, namespace)
		readyShop(ctx, other)
		leaseIn(ctx, time.Now().Add(50*time.Second), other)
		message := "the operator does not watch namespace " + namespace + ", so nobody serves the components there"
		r := fairlead(ctx, namespace, "status", "shop")
		Expect(r.Code).To(Equal(1))
		Expect(r.Out).To(ContainSubstring(message))
		Expect(fairlead(ctx, other, "status", "shop").Code).To(Equal(0))
		Expect(fairlead(ctx, other, "list", "-A").Err).To(ContainSubstring(message))
		Expect(fairlead(ctx, other, "list").Err).To(BeEmpty())
	})

	It("says that the operator was not checked, if no Lease is known", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		readyShop(ctx, namespace)
		GinkgoT().Setenv("FAIRLEAD_OPERATOR_NAMESPACE", namespace)
		r := fairlead(ctx, namespace, "status", "shop")
		Expect(r.Code).To(Equal(0))
		Expect(r.Out).To(ContainSubstring("Operator:    not checked: there is no Lease fairlead-operator in namespace " +
			namespace))
		Expect(fairlead(ctx, namespace, "status", "shop", "-o", "json").Out).To(ContainSubstring(`"state": "NotChecked"`))
		Expect(fairlead(ctx, namespace, "tree", "shop").Err).
			To(HavePrefix("warning: operator not checked: there is no Lease"))
	})

	It("does not warn about a component of another operator, whose Lease nobody can name", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		readyGadget(ctx, namespace, "shop")
		const name = "gadget.gadgets.example.com/shop"
		Expect(fairlead(ctx, namespace, "tree", name).Err).To(BeEmpty())
		Expect(fairlead(ctx, namespace, "list", "gadgets.gadgets.example.com").Err).To(BeEmpty())
		Expect(fairlead(ctx, namespace, "status", name).Out).To(ContainSubstring("Operator:    not checked: the Lease"))
	})
}))

// renew repeats that an operator renewed its Lease, so that a command that reads it twice sees a change.
func renew(ctx context.Context, namespace string, at time.Time) {
	GinkgoHelper()
	lease := &coordinationv1.Lease{}
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: leader.Name}, lease)).To(Succeed())
	Eventually(ctx, func() int { return len(requests(ctx, namespace, "leases")) }).ShouldNot(BeZero())
	base := lease.DeepCopy()
	lease.Spec.RenewTime = new(metav1.NewMicroTime(at))
	Expect(k8s.Patch(ctx, lease, client.MergeFrom(base))).To(Succeed())
}
