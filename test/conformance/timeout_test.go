package conformance_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

var _ = Describe("Dependents with a timeout:", func() {
	It("a dependent that is not ready at its timeout is reported as failed, and is reported as ready when it "+
		"becomes ready later", func(ctx SpecContext) {
		operator := newOperatorName()
		runOperator(operator, operatorOptions{})
		held := heldDeployment("web", settingOf(operator, "timeout", "2s"))
		g := newGadget(ctx, newNamespace(ctx), "app",
			together(held, configMap("later", "a", settingOf(operator, "order", "1"))), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("/web")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True"), ContainSubstring("/web"),
			ContainSubstring("not ready within 2s")))
		Expect(countConfigMaps(ctx, g.Namespace)).To(BeZero())
		changeManifests(ctx, g, removeLine(current(ctx, g).Spec.Manifests, "nodeSelector"))
		expectReady(ctx, g)
		Expect(countConfigMaps(ctx, g.Namespace)).To(Equal(1))
	})
})
