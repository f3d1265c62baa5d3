package conformance_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("A deletion with the propagation policy Orphan:", func() {
	It("the delete policies decide, and a warning says so", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(configMap("deleted", "a"),
			configMap("kept", "a", operator+"/delete-policy: orphan")), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(k8s.Delete(ctx, g, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
		expectNotFound(ctx, g)
		Expect(configMapExists(ctx, namespace, "deleted")).To(BeFalse())
		Expect(configMapExists(ctx, namespace, "kept")).To(BeTrue())
		Eventually(ctx, func() []string { return notesOf(ctx, namespace, "OrphanIgnored") }).Should(ConsistOf(
			ContainSubstring("deletes the dependents all the same")))
	})

	It("a deletion with another policy is no occasion for the warning", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("deleted", "a"))
		expectReady(ctx, g)
		Expect(k8s.Delete(ctx, g, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		expectNotFound(ctx, g)
		Expect(notesOf(ctx, namespace, "OrphanIgnored")).To(BeEmpty())
	})
})
