package conformance_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Jobs that are removed after they finish:", func() {
	It("a Job that was removed after it finished does not run again, even if it finished while its component "+
		"was suspended", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		text := strings.NewReplacer(
			"spec:\n  template:", "spec:\n  ttlSecondsAfterFinished: 0\n  template:",
			"restartPolicy:", fmt.Sprintf("nodeSelector: {%s: here}\n      restartPolicy:", namespace),
		).Replace(job("work", "1"))
		g := newGadget(ctx, namespace, "app", text, servedBy(operator))
		Eventually(ctx, func() error { _, err := get(ctx, "batch/v1", "Job", namespace, "work"); return err }).
			Should(Succeed())
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")

		By("labelling a node, so that the Job can run on it")
		nodes := &corev1.NodeList{}
		Expect(k8s.List(ctx, nodes)).To(Succeed())
		Expect(nodes.Items).NotTo(BeEmpty())
		patch(ctx, &nodes.Items[0], fmt.Sprintf(`{"metadata":{"labels":{%q:"here"}}}`, namespace))
		Eventually(ctx, func() error { _, err := get(ctx, "batch/v1", "Job", namespace, "work"); return err }).
			Should(MatchError(apierrors.IsNotFound, "IsNotFound"))

		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = false })
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(writes(ctx, operator, namespace).Resource("jobs").Code(201)).To(HaveLen(1))
		Expect(entryOf(ctx, g, "work").Completed).To(BeTrue())
	})
})
