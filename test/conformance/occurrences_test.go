package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Dependents with several orders:", func() {
	orders := func(operator string) string { return settingOf(operator, "order", "-5, 5") }
	purges := func(operator string) string { return settingOf(operator, "purge-order", "-4, 6") }
	recreate := func(operator string) string { return settingOf(operator, "update-policy", "recreate") }
	// purged renders a Job that runs before and after a ConfigMap and is purged each time.
	purged := func(operator, value string) string {
		return together(job("twice", value, orders(operator), purges(operator), recreate(operator)),
			configMap("between", value))
	}
	recreated := func(operator, value string) string {
		return together(job("twice", value, orders(operator), recreate(operator)), configMap("between", value))
	}
	// history returns the successful writes to ConfigMaps, Deployments and Jobs, in order.
	history := func(ctx context.Context, mark auditMark, operator, namespace string) []string {
		GinkgoHelper()
		return tale(requestsSince(ctx, mark, operator), namespace)
	}
	start := func(ctx context.Context, options operatorOptions,
		manifests func(operator, value string) string,
	) (operator string, g *gadget.Gadget, stop func()) {
		GinkgoHelper()
		operator = newOperatorName()
		stop = runOperator(operator, options)
		return operator, newGadget(ctx, newNamespace(ctx), "app", manifests(operator, "1"), servedBy(operator)), stop
	}

	It("an object with two orders is created and purged at the first order, and again at the second order, after the "+
		"waves between are ready", func(ctx SpecContext) {
		operator, g, _ := start(ctx, operatorOptions{}, purged)
		expectReady(ctx, g)
		Expect(history(ctx, 0, operator, g.Namespace)).To(Equal([]string{
			"create jobs/twice", "delete jobs/twice", "create configmaps/between", "create jobs/twice", "delete jobs/twice",
		}))
		Expect(current(ctx, g).Status.Dependents.Summary).To(Equal("2/2"),
			"an object with several occurrences must be counted once")
		Expect(entryOf(ctx, g, "twice")).To(And(HaveField("Completed", BeTrue()), HaveField("UID", BeEmpty()),
			HaveField("Occurrence", 2)))
		Expect(entryOf(ctx, g, "between").String()).NotTo(ContainSubstring("!"))
	})

	It("an object with two orders is recreated at the second order", func(ctx SpecContext) {
		operator, g, _ := start(ctx, operatorOptions{}, recreated)
		expectReady(ctx, g)
		Expect(history(ctx, 0, operator, g.Namespace)).To(Equal([]string{
			"create jobs/twice", "create configmaps/between", "delete jobs/twice", "create jobs/twice",
		}))
		By("changing the content of the object")
		mark := markAudit(ctx)
		changeManifests(ctx, g, recreated(operator, "2"))
		expectReady(ctx, g)
		Expect(history(ctx, mark, operator, g.Namespace)).To(Equal([]string{
			"delete jobs/twice", "create jobs/twice", "update configmaps/between", "delete jobs/twice", "create jobs/twice",
		}))
	})

	It("the preview shows an object with two orders at both orders", func(ctx SpecContext) {
		operator := newOperatorName()
		g := newGadget(ctx, newNamespace(ctx), "app", purged(operator, "1"), servedBy(operator))
		forecast, err := previewOf(operator).Apply(ctx, current(ctx, g))
		Expect(err).NotTo(HaveOccurred())
		Expect(turns(forecast)).To(Equal([][]string{
			{"create jobs/twice"},
			{"delete jobs/twice"},
			{"create configmaps/between"},
			{"create jobs/twice"},
			{"delete jobs/twice"},
		}))
		Expect(forecast.Desired).To(Equal(2))
	})

	It("an object with two orders waits before the second order until the waves between are ready", func(ctx SpecContext) {
		operator, g, _ := start(ctx, operatorOptions{}, func(operator, value string) string {
			return together(job("twice", value, orders(operator), recreate(operator)), heldDeployment("web"))
		})
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("/web")))
		Expect(history(ctx, 0, operator, g.Namespace)).To(Equal([]string{"create jobs/twice", "create deployments/web"}))
		Expect(entryOf(ctx, g, "twice").Occurrence).To(Equal(1))
		changed := removeLine(current(ctx, g).Spec.Manifests, "nodeSelector")
		mark := markAudit(ctx)
		changeManifests(ctx, g, changed)
		expectReady(ctx, g)
		Expect(history(ctx, mark, operator, g.Namespace)).To(Equal([]string{
			"update deployments/web", "delete jobs/twice", "create jobs/twice",
		}), "the object continues at its second order, because its content did not change")
	})

	It("if the content of an object with two orders changes between the two orders, the object starts again at "+
		"the first order", func(ctx SpecContext) {
		manifests := func(operator, value string) string {
			return together(job("twice", value, orders(operator), recreate(operator)), heldDeployment("web"))
		}
		operator, g, _ := start(ctx, operatorOptions{}, manifests)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("/web")))
		mark := markAudit(ctx)
		changeManifests(ctx, g, removeLine(manifests(operator, "2"), "nodeSelector"))
		expectReady(ctx, g)
		Expect(history(ctx, mark, operator, g.Namespace)).To(Equal([]string{
			"delete jobs/twice", "create jobs/twice", "update deployments/web", "delete jobs/twice", "create jobs/twice",
		}))
	})

	It("an object with two orders does not run again after a restart, a pass, or a "+
		"change of settings", func(ctx SpecContext) {
		operator, g, stop := start(ctx, operatorOptions{}, purged)
		expectReady(ctx, g)
		settle(ctx, operator)
		stop()
		mark := markAudit(ctx)
		runOperator(operator, operatorOptions{})
		requestPass(ctx, g, operator)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.RetryInterval = seconds(30) })
		expectReady(ctx, g)
		changeManifests(ctx, g, strings.ReplaceAll(current(ctx, g).Spec.Manifests, `"-5, 5"`, `"-6, 5"`))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(history(ctx, mark, operator, g.Namespace)).To(BeEmpty())
	})

	It("an object with two orders is applied at both orders if the inventory is stored in Secrets", func(ctx SpecContext) {
		operator, g, _ := start(ctx, operatorOptions{
			component: component.Options{Limits: component.Limits{StatusInventory: 1}},
		}, purged)
		expectReady(ctx, g)
		Expect(history(ctx, 0, operator, g.Namespace)).To(Equal([]string{
			"create jobs/twice", "delete jobs/twice", "create configmaps/between", "create jobs/twice", "delete jobs/twice",
		}))
	})

	It("an object with two orders is deleted with its component if the component is deleted between "+
		"the two orders", func(ctx SpecContext) {
		_, g, _ := start(ctx, operatorOptions{}, func(operator, value string) string {
			return together(job("twice", value, orders(operator), recreate(operator)), heldDeployment("web"))
		})
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("/web")))
		remove(ctx, g)
		expectNotFound(ctx, g)
		_, err := get(ctx, "batch/v1", "Job", g.Namespace, "twice")
		Expect(err).To(HaveOccurred())
	})

	for _, after := range []int64{1, 2, 3} {
		for _, unanswered := range []bool{false, true} {
			It(fmt.Sprintf("an object with two orders is applied once at each order if the operator crashed after %d writes "+
				"(response lost: %t)", after, unanswered), func(ctx SpecContext) {
				namespace, operator := newNamespace(ctx), newOperatorName()
				c := &crash{counts: writesTo(namespace, "jobs"), after: after, unanswered: unanswered}
				g := newGadget(ctx, namespace, "app", purged(operator, "1"), servedBy(operator))
				stop := runOperator(operator, operatorOptions{transport: c.wrap})
				Eventually(ctx, c.crashed.Load).Should(BeTrue())
				stop()
				runOperator(operator, operatorOptions{})
				expectReady(ctx, g)
				Expect(history(ctx, 0, operator, namespace)).To(Equal([]string{
					"create jobs/twice", "delete jobs/twice", "create configmaps/between", "create jobs/twice", "delete jobs/twice",
				}))
			})
		}
	}
})
