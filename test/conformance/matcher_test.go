package conformance_test

import (
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
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
			Matchers: map[schema.GroupKind]component.Matcher{configMaps: match},
		}})
		return operator, stop
	}
	// lazily treats values as equal that begin with the same letter.
	lazily := func(desired, live *unstructured.Unstructured) component.Verdict {
		if got, want := data(live), data(desired); got == "" || got[0] != want[0] {
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
				Matchers: map[schema.GroupKind]component.Matcher{configMaps: lazily},
			}})
			settle(ctx, operator)
			Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps"))).To(BeEmpty())
			Expect(value()).To(Equal("avocado"))
			changeManifests(ctx, g, configMap("settings", "cherry", settingOf(operator, "update-policy", policy)))
			Eventually(value).Should(Equal("cherry"))
		})
	})

	It("an object is left alone until the time of its matcher, and is updated then without an event", func(ctx SpecContext) {
		var until atomic.Int64
		operator, _ := run(func(_, _ *unstructured.Unstructured) component.Verdict {
			return component.Verdict{LeaveUntil: time.Unix(until.Load(), 0)}
		})
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		until.Store(time.Now().Add(time.Hour).Unix())
		changeManifests(ctx, g, configMap("settings", "b"))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False"), ContainSubstring("its matcher leaves it alone until")))
		Expect(data(mustGet(ctx, "v1", "ConfigMap", namespace, "settings"))).To(Equal("a"))
		until.Store(time.Now().Add(2 * time.Second).Unix())
		requestPass(ctx, g, operator)
		expectReady(ctx, g)
		Expect(data(mustGet(ctx, "v1", "ConfigMap", namespace, "settings"))).To(Equal("b"))
	})

	It("a matcher that always finds a difference writes once in a pass, and does not start another pass", func(ctx SpecContext) {
		operator, _ := run(func(_, _ *unstructured.Unstructured) component.Verdict { return component.Verdict{Differs: "always"} })
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		mark, before := markAudit(ctx), passes(operator)
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(passes(operator) - before).To(Equal(1))
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps"))).To(Equal([]string{"patch configmaps 200"}))
	})

	It("an object whose matcher panics is left unchanged, and has failed", func(ctx SpecContext) {
		operator, _ := run(func(_, _ *unstructured.Unstructured) component.Verdict { panic("oh no") })
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False"), ContainSubstring("its matcher panicked: oh no")))
	})
})
