package conformance_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Reapply intervals:", func() {
	const interval = "100ms"
	start := func(ctx context.Context, manifests func(operator string) string, options component.Options) (operator string,
		g *gadget.Gadget,
	) {
		GinkgoHelper()
		operator = newOperatorName()
		runOperator(operator, operatorOptions{component: options})
		g = newGadget(ctx, newNamespace(ctx), "app", manifests(operator), servedBy(operator))
		expectReady(ctx, g)
		return operator, g
	}
	// patches returns a function that counts the writes to a ConfigMap since a position in the audit log.
	patches := func(ctx context.Context, mark auditMark, operator, namespace, name string) func() int {
		return func() int {
			return len(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps").
				Where(named(name)).Writes())
		}
	}

	forEachPolicy(func(policy string) {
		It("after the reapply interval, objects without visible drift are applied again by one write each, and the "+
			"component stays ready", func(ctx SpecContext) {
			operator, g := start(ctx, func(operator string) string {
				update := settingOf(operator, "update-policy", policy)
				return together(configMap("again", "a", update, settingOf(operator, "reapply-interval", interval)),
					configMap("plain", "a", update))
			}, component.Options{})
			before, object := current(ctx, g), mustGet(ctx, "v1", "ConfigMap", g.Namespace, "again")
			mark := markAudit(ctx)
			Eventually(ctx, patches(ctx, mark, operator, g.Namespace, "again")).Should(BeNumerically(">=", 3))
			Expect(patches(ctx, mark, operator, g.Namespace, "plain")()).To(BeZero())
			after := current(ctx, g)
			Expect(meta.FindStatusCondition(after.Status.Conditions, metav1alpha1.ConditionReady)).To(
				Equal(meta.FindStatusCondition(before.Status.Conditions, metav1alpha1.ConditionReady)),
				"the component was ready all the time")
			Expect(after.Status.Revision).To(Equal(before.Status.Revision))
			Expect(mustGet(ctx, "v1", "ConfigMap", g.Namespace, "again").GetResourceVersion()).
				To(Equal(object.GetResourceVersion()))
			written := inNamespace(requestsSince(ctx, mark, operator), g.Namespace).Writes()
			// The status of an apply from before the mark may be written after the mark.
			Expect(len(written.Resource("gadgets"))).To(BeNumerically("<=", 1+len(written.Resource("configmaps"))), "%v",
				verbs(written))
		})
	})

	It("a reapply interval does not recreate a dependent with the update policy recreate", func(ctx SpecContext) {
		operator, g := start(ctx, func(operator string) string {
			return configMap("again", "a", settingOf(operator, "update-policy", "recreate"),
				settingOf(operator, "reapply-interval", interval))
		}, component.Options{})
		before, mark := mustGet(ctx, "v1", "ConfigMap", g.Namespace, "again"), markAudit(ctx)
		Eventually(ctx, patches(ctx, mark, operator, g.Namespace, "again")).Should(BeNumerically(">=", 1))
		Expect(mustGet(ctx, "v1", "ConfigMap", g.Namespace, "again").GetUID()).To(Equal(before.GetUID()))
		Expect(inNamespace(requestsSince(ctx, mark, operator), g.Namespace).Verb("delete")).To(BeEmpty())
	})

	It("a reapply interval can be set in the reconciler's defaults, is disabled by 0, and does not affect dependents "+
		"with the reconcile policy once", func(ctx SpecContext) {
		operator, g := start(ctx, func(operator string) string {
			return together(configMap("again", "a"), configMap("never", "a", settingOf(operator, "reapply-interval", "0")),
				configMap("once", "a", settingOf(operator, "reconcile-policy", "once")))
		}, component.Options{
			Dependents: component.Dependents{Policies: metav1alpha1.Policies{Reapply: 100 * time.Millisecond}},
		})
		mark := markAudit(ctx)
		Eventually(ctx, patches(ctx, mark, operator, g.Namespace, "again")).Should(BeNumerically(">=", 1))
		Expect(patches(ctx, mark, operator, g.Namespace, "never")()).To(BeZero())
		Expect(patches(ctx, mark, operator, g.Namespace, "once")()).To(BeZero())
	})

	It("a reapply interval causes no request before its end, also after a restart, and no request while the component "+
		"is suspended", func(ctx SpecContext) {
		operator, namespace := newOperatorName(), newNamespace(ctx)
		stop := runOperator(operator, operatorOptions{})
		manifests := func(interval string) string {
			return configMap("again", "a", settingOf(operator, "reapply-interval", interval))
		}
		g := newGadget(ctx, namespace, "app", manifests("1h"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		mark, passed := markAudit(ctx), passes(operator)
		stop()
		runOperator(operator, operatorOptions{})
		Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", passed))
		settle(ctx, operator)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace))).To(BeEmpty())

		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend, g.Spec.Manifests = true, manifests("100ms") })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")
		Consistently(ctx, patches(ctx, mark, operator, namespace, "again"), 1200*time.Millisecond, 400*time.Millisecond).
			Should(BeZero())
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = false })
		Eventually(ctx, patches(ctx, mark, operator, namespace, "again")).Should(BeNumerically(">=", 2))
	})
})
