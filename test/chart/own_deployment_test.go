package chart_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
)

var _ = Describe("Fairlead", Ordered, func() {
	It("an operator whose own Deployment is in a component repairs this Deployment, and refuses "+
		"to delete it", func(ctx SpecContext) {
		By("applying the chart with an operator that runs as an administrator")
		Expect(config.Install(ctx, admin)).To(Succeed())
		first := launch("--kubeconfig="+cluster.Kubeconfig(), "--leader-elect", "--leader-election-namespace="+system,
			"--metrics-bind-address=0", "--health-probe-bind-address=0")
		// The objects of config/rbac do not belong to the chart and have no owner.
		fairlead(ctx, "apply", release, chart, "--namespace", system, "--set",
			"components.actAs=operator,rbac.grants=true,components.otherServiceAccounts={*}", "--adopt", "--wait")
		Expect(status(ctx, system, release)()).To(HavePrefix("Ready Ready: "))

		By("stopping the first operator, so that the operator in the component takes over")
		start(ctx, credentials(ctx))
		first()
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: release}}
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
		deployment.Spec.Replicas = new(int32(5))
		Expect(admin.Update(ctx, deployment)).To(Succeed())
		Eventually(func() (int32, error) {
			err := admin.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)
			return *deployment.Spec.Replicas, err
		}).Should(Equal(int32(1)))

		By("refusing to prune the operator's own Deployment")
		fairlead(ctx, "apply", release, chart, "--namespace", system, "--set",
			"fullnameOverride=moved,components.actAs=operator,rbac.grants=true,components.otherServiceAccounts={*}")
		Eventually(status(ctx, system, release)).Should(And(HavePrefix("Stalled GenerateFailed: "),
			ContainSubstring("lacks Deployment fairlead-system/fairlead-operator"),
			ContainSubstring("run fairlead-operator elsewhere")))
		fairlead(ctx, "apply", release, chart, "--namespace", system, "--set",
			"components.actAs=operator,rbac.grants=true,components.otherServiceAccounts={*}", "--wait")

		By("refusing to recreate the operator's own Deployment")
		itself := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: release}}
		Expect(admin.Patch(ctx, itself, client.RawPatch(types.MergePatchType,
			[]byte(`{"spec":{"updatePolicy":"recreate"}}`)))).To(Succeed())
		Eventually(status(ctx, system, release)).Should(And(HavePrefix("Stalled HookFailed: "),
			ContainSubstring("Deployment fairlead-system/fairlead-operator"), ContainSubstring("spec.updatePolicy")))
		Expect(admin.Patch(ctx, itself, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"updatePolicy":null}}`)))).
			To(Succeed())
		Eventually(status(ctx, system, release)).Should(HavePrefix("Ready Ready: "))

		By("refusing to delete the component with the operator's own Deployment")
		Expect(admin.Delete(ctx, itself)).To(Succeed())
		Eventually(status(ctx, system, release)).Should(And(HavePrefix("DeletionBlocked DeletionRefused: "),
			ContainSubstring("Deployment fairlead-system/fairlead-operator"),
			ContainSubstring("run fairlead-operator elsewhere")))

		By("refusing to delete the component with the operator's own Deployment, also after the inventory was lost")
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(itself), itself)).To(Succeed())
		itself.Status = metav1alpha1.Status{}
		Expect(admin.Status().Update(ctx, itself)).To(Succeed())
		Eventually(status(ctx, system, release)).Should(HavePrefix("DeletionBlocked DeletionRefused: "))
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
		Expect(deployment.DeletionTimestamp).To(BeNil())
	}, SpecTimeout(3*time.Minute))

	It("an operator whose Deployment is in a component is deleted with the component by an operator that "+
		"runs elsewhere", func(ctx SpecContext) {
		itself := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: release}}
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(itself), itself)).To(Succeed())
		launch("--kubeconfig="+cluster.Kubeconfig(), "--leader-elect", "--leader-election-namespace="+system,
			"--metrics-bind-address=0", "--health-probe-bind-address=0")
		Eventually(absent(ctx, itself)).WithTimeout(time.Minute).Should(Succeed())
		Expect(absent(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: release}})()).
			To(Succeed())
		Expect(suspendable(ctx)()).To(BeTrue(),
			"the definition of components must still exist after the deletion of the component")
	}, SpecTimeout(2*time.Minute))
})
