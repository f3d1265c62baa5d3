package conformance_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

var _ = Describe("Dependents that are purged when they have failed:", func() {
	It("a dependent that was deleted because it failed (purge-failed) is reported as failed until its content changes, "+
		"also after a restart", func(ctx SpecContext) {
		operator := newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		namespace, label := newNamespace(ctx), newGroup()
		failing := oneJobFor(label, "migrate", settingOf(operator, "purge-failed", "true"),
			settingOf(operator, "update-policy", "recreate"))
		g := newGadget(ctx, namespace, "app", together(failing, configMap("later", "a", settingOf(operator, "order", "1"))),
			servedBy(operator))
		failJob(ctx, namespace, "migrate")

		Eventually(ctx, func() error { _, err := get(ctx, "batch/v1", "Job", namespace, "migrate"); return err }).
			Should(HaveOccurred())
		stalled := And(HavePrefix("True DependentFailed"), ContainSubstring("migrate"),
			ContainSubstring("it was deleted, as its manifest says"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, stalled)
		stop()
		runOperator(operator, operatorOptions{})
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, stalled)
		Expect(tale(requestsSince(ctx, 0, operator), namespace)).
			To(Equal([]string{"create jobs/migrate", "delete jobs/migrate"}))

		changeManifests(ctx, g, together(job("migrate", "2", settingOf(operator, "purge-failed", "true"),
			settingOf(operator, "update-policy", "recreate")),
			configMap("later", "a", settingOf(operator, "order", "1"))))
		expectReady(ctx, g)
		Expect(entryOf(ctx, g, "migrate").Failed).To(BeEmpty())
	})
})
