package conformance_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("The applied generation:", func() {
	It("the applied generation follows the generation only when all dependents are applied, and "+
		"survives a restart", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		invalid := "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: -1}]}"
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.AppliedGeneration).To(Equal(int64(1)))

		By("changing the spec, so that a dependent is refused")
		changeManifests(ctx, g, together(configMap("settings", "b"), invalid))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "True DependentFailed")
		status := current(ctx, g).Status
		Expect([]int64{status.ObservedGeneration, status.AppliedGeneration}).To(Equal([]int64{2, 1}))
		stop()
		runOperator(operator, operatorOptions{})
		requestPass(ctx, g, operator)
		Expect(current(ctx, g).Status.AppliedGeneration).To(Equal(int64(1)))

		By("correcting the dependent, and then changing the spec without a change of a dependent")
		changeManifests(ctx, g, configMap("settings", "b"))
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.AppliedGeneration).To(Equal(int64(3)))
		mark := markAudit(ctx)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Timeout = seconds(30) })
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.AppliedGeneration).To(Equal(int64(4)))
		Expect(inNamespace(requestsSince(ctx, mark, operator), namespace).Writes().Resource("configmaps")).To(BeEmpty())
	})
})
