package conformance_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

var _ = Describe("The condition gone-when:", func() {
	It("others do not wait for an object that is being deleted when its condition holds, also after a "+
		"lost inventory", func(ctx SpecContext) {
		operator, namespace := newOperatorName(), newNamespace(ctx)
		set := func(name, value string) string { return settingOf(operator, name, value) }
		text := together(
			configMap("wave", "a", set("order", "2"), set("gone-when", `self.data.value == "a"`)),
			configMap("next", "a", set("order", "1")),
			configMap("drained", "a", set("depends-on", "ConfigMap middle"), set("gone-when", `self.data.value == "drained"`)),
			configMap("middle", "a"),
			configMap("top", "a", set("depends-on", "ConfigMap bottom"), set("gone-when", `self.data.value == "drained"`)),
			configMap("bottom", "a"))
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", text, servedBy(operator))
		expectReady(ctx, g)
		hold := func(name string) {
			GinkgoHelper()
			patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, name), `{"metadata":{"finalizers":["example.com/hold"]}}`)
		}
		free := func(ctx context.Context, name string) {
			GinkgoHelper()
			patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, name), `{"metadata":{"finalizers":null}}`)
		}
		hold("wave")
		hold("drained")
		hold("top")
		settle(ctx, operator)

		By("the conditions cost no request before the deletion, also after a restart")
		mark := markAudit(ctx)
		requestPass(ctx, g, operator)
		stop()
		stop = runOperator(operator, operatorOptions{})
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps"))).To(BeEmpty())

		remove(ctx, g)
		Eventually(ctx, func() []metav1alpha1.DependentReport { return current(ctx, g).Status.Waiting }).
			Should(ContainElement(
				HaveField("Message",
					ContainSubstring(`gone-when: self.data.value == "drained" is false (self.data.value is "a")`))))
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "next") }).Should(BeFalse(),
			"the wave after the held object")
		settle(ctx, operator)
		Expect(configMapExists(ctx, namespace, "wave")).To(BeTrue())
		Expect(configMapExists(ctx, namespace, "middle")).To(BeTrue())
		Expect(configMapExists(ctx, namespace, "bottom")).To(BeTrue())

		By("the inventory is lost")
		stop()
		loseStatus(ctx, g)
		runOperator(operator, operatorOptions{})
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "top"), `{"data":{"value":"drained"}}`)
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "bottom") }).Should(BeFalse())
		Expect(configMapExists(ctx, namespace, "middle")).To(BeTrue(), "the other condition is false")
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "drained"), `{"data":{"value":"drained"}}`)
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "middle") }).Should(BeFalse())
		settle(ctx, operator)
		Expect(current(ctx, g).Status.Inventory).To(HaveLen(3), "the record waits until the objects no longer exist")
		Expect(current(ctx, g).Status.Waiting).To(HaveEach(HaveField("Message", ContainSubstring("gone-when is true"))))
		free(ctx, "wave")
		free(ctx, "drained")
		free(ctx, "top")
		expectNotFound(ctx, g)
	})
})
