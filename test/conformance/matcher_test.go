package conformance_test

import (
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Matchers:", func() {
	configMaps := schema.GroupKind{Kind: "ConfigMap"}
	data := func(o *unstructured.Unstructured) string {
		value, _, _ := unstructured.NestedString(o.Object, "data", "value")
		return value
	}
	// run starts an operator with a matcher of ConfigMaps.
	run := func(match component.Matcher) (operator string, stop func()) {
		operator = newOperatorName()
		stop = runOperator(operator, operatorOptions{component: component.Options{
			Dependents: component.Dependents{Matchers: map[schema.GroupKind]component.Matcher{configMaps: match}},
		}})
		return operator, stop
	}
	// lazily treats values as equal that begin with the same letter.
	lazily := func(m component.Match) component.Verdict {
		if got, want := data(m.Live), data(m.Desired); got == "" || got[0] != want[0] {
			return component.Verdict{Differs: "value is " + got}
		}
		return component.Verdict{}
	}

	forEachPolicy(func(policy string) {
		It("the matcher decides whether a change by another client is repaired, and costs no request", func(ctx SpecContext) {
			operator, stop := run(lazily)
			namespace := newNamespace(ctx)
			text := configMap("settings", "apple", settingOf(operator, "update-policy", policy))
			g := newGadget(ctx, namespace, "app", text, servedBy(operator))
			expectReady(ctx, g)
			value := func() string { return data(mustGet(ctx, "v1", "ConfigMap", namespace, "settings")) }

			patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), `{"data":{"value":"avocado"}}`)
			settle(ctx, operator)
			mark := markAudit(ctx)
			requestPass(ctx, g, operator)
			Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty())
			Expect(value()).To(Equal("avocado"))

			patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), `{"data":{"value":"banana"}}`)
			Eventually(value).Should(Equal("apple"))
			patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), `{"data":{"value":"avocado"}}`)
			settle(ctx, operator)

			By("restarting the operator")
			stop()
			mark = markAudit(ctx)
			runOperator(operator, operatorOptions{component: component.Options{
				Dependents: component.Dependents{Matchers: map[schema.GroupKind]component.Matcher{configMaps: lazily}},
			}})
			settle(ctx, operator)
			Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps"))).To(BeEmpty())
			Expect(value()).To(Equal("avocado"))
			changeManifests(ctx, g, configMap("settings", "cherry", settingOf(operator, "update-policy", policy)))
			Eventually(value).Should(Equal("cherry"))
		})
	})

	It("a matcher that sees the component accepts a changed manifest, without a request, also "+
		"after a restart", func(ctx SpecContext) {
		const frozen = "example.com/frozen"
		accepting := func(m component.Match) component.Verdict {
			defer GinkgoRecover()
			g, ok := m.Component.(*gadget.Gadget)
			Expect(ok).To(BeTrue(), "the component is a %T", m.Component)
			return component.Verdict{Accepts: m.Live.GetName() == "settings" && g.GetAnnotations()[frozen] != ""}
		}
		operator, stop := run(accepting)
		namespace := newNamespace(ctx)
		text := func(value string) string {
			return together(configMap("settings", value, settingOf(operator, "export", "v=self.data.value")),
				configMap("copy", value+" ${{ v }}", settingOf(operator, "bind", "true")))
		}
		value := func(name string) string { return data(mustGet(ctx, "v1", "ConfigMap", namespace, name)) }
		g := newGadget(ctx, namespace, "app", text("a"), servedBy(operator))
		expectReady(ctx, g)
		Expect(value("copy")).To(Equal("a a"))
		patch(ctx, g, `{"metadata":{"annotations":{"`+frozen+`":"yes"}}}`)
		changeManifests(ctx, g, text("b"))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(value("settings")).To(Equal("a"))
		Expect(value("copy")).To(Equal("b a"), "an object that binds a value does not wait for the accepted one")
		status := current(ctx, g).Status
		Expect(status.Revision).To(Equal(int64(2)))
		Expect(status.AppliedGeneration).To(Equal(current(ctx, g).Generation))

		By("restarting the operator")
		stop()
		mark, before := markAudit(ctx), passes(operator)
		stop = runOperator(operator, operatorOptions{component: component.Options{
			Dependents: component.Dependents{Matchers: map[schema.GroupKind]component.Matcher{configMaps: accepting}},
		}})
		Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
		settle(ctx, operator)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps"))).To(BeEmpty())
		Expect(value("settings")).To(Equal("a"))

		By("accepting it no longer")
		patch(ctx, g, `{"metadata":{"annotations":{"`+frozen+`":null}}}`)
		requestPass(ctx, g, operator)
		Eventually(func() string { return value("copy") }).Should(Equal("b b"))
		Expect(value("settings")).To(Equal("b"))
		stop()
	})

	It("an object is left alone until the time of its matcher, and is updated then "+
		"without an event", func(ctx SpecContext) {
		var until atomic.Int64
		operator, _ := run(func(component.Match) component.Verdict {
			return component.Verdict{LeaveUntil: time.Unix(until.Load(), 0)}
		})
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		// The time is long enough for a busy machine to reach the point after which nothing but the time starts a pass.
		end := time.Now().Add(8 * time.Second).Truncate(time.Second)
		until.Store(end.Unix())
		mark := markAudit(ctx)
		changeManifests(ctx, g, configMap("settings", "b"))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False"),
			ContainSubstring("its matcher leaves it alone until "+end.UTC().Format(time.RFC3339))))
		settle(ctx, operator)
		before := passes(operator)
		Expect(writesIn(ctx, mark, operator, namespace)).To(BeEmpty())
		Expect(data(mustGet(ctx, "v1", "ConfigMap", namespace, "settings"))).To(Equal("a"))

		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(data(mustGet(ctx, "v1", "ConfigMap", namespace, "settings"))).To(Equal("b"))
		Expect(passes(operator)-before).To(Equal(1), "the time alone starts a pass")
		written := inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps").Writes()
		Expect(verbs(written)).To(Equal([]string{"patch configmaps 200"}))
		Expect(written[0].Answered).To(BeTemporally(">=", end))
	})

	It("a matcher that always finds a difference writes once in a pass, and does not start "+
		"another pass", func(ctx SpecContext) {
		operator, _ := run(func(component.Match) component.Verdict { return component.Verdict{Differs: "always"} })
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		mark, before := markAudit(ctx), passes(operator)
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(passes(operator) - before).To(Equal(1))
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps"))).
			To(Equal([]string{"patch configmaps 200"}))
	})

	It("an object whose matcher always finds a difference is not written in each pass, and the status "+
		"names the matcher", func(ctx SpecContext) {
		operator := newOperatorName()
		var reconciler *component.Reconciler[*gadget.Gadget]
		runOperator(operator, operatorOptions{
			component: component.Options{Dependents: component.Dependents{Matchers: map[schema.GroupKind]component.Matcher{
				configMaps: func(component.Match) component.Verdict { return component.Verdict{Differs: "always"} },
			}}},
			built: func(r *component.Reconciler[*gadget.Gadget]) { reconciler = r },
		})
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		mark, first := markAudit(ctx), passes(operator)
		Eventually(ctx, func() string {
			before := passes(operator)
			reconciler.Trigger(client.ObjectKeyFromObject(g))
			Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
			return condition(current(ctx, g), metav1alpha1.ConditionReady)
		}).Should(And(HavePrefix("False "+metav1alpha1.ReasonRepairConflict),
			ContainSubstring("settings"), ContainSubstring("its matcher says repeatedly that it differs from its manifest")))
		writes := inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps").Writes()
		Expect(len(writes)).To(BeNumerically(">", 1))
		Expect(len(writes)).To(BeNumerically("<", passes(operator)-first))
	})

	It("an object whose matcher panics is left unchanged, and has failed", func(ctx SpecContext) {
		operator, _ := run(func(component.Match) component.Verdict { panic("oh no") })
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("False"), ContainSubstring("its matcher panicked: oh no")))
	})
})
