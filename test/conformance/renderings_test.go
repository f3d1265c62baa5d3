package conformance_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
)

var _ = Describe("The cached rendering of a component:", func() {
	var namespace, operator string
	var rendered *chart
	BeforeEach(func(ctx SpecContext) {
		namespace, operator, rendered = newNamespace(ctx), newOperatorName(), &chart{}
	})
	const password = `{apiVersion: v1, kind: Secret, metadata: {name: login}, data: {password: {{ randAlphaNum 16 | b64enc }}}}`
	run := func(bytes int) {
		GinkgoHelper()
		runOperator(operator, operatorOptions{
			generate:  rendered,
			component: component.Options{Limits: component.Limits{RenderedBytes: bytes}},
		})
	}
	repairs := func(ctx context.Context, kind, name string) {
		GinkgoHelper()
		lost := mustGet(ctx, "v1", kind, namespace, name)
		Expect(k8s.Delete(ctx, lost)).To(Succeed())
		Eventually(ctx, func() error {
			_, err := get(ctx, "v1", kind, namespace, name)
			return err
		}).Should(Succeed())
		settle(ctx, operator)
	}

	It("a repair applies the cached rendering without rendering again", func(ctx SpecContext) {
		run(0)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a")+"\n---\n"+configMap("others", "b"),
			servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		before := rendered.renderings.Load()
		repairs(ctx, "ConfigMap", "settings")
		Expect(content(ctx, "ConfigMap", namespace, "settings")).To(Equal(map[string]any{"value": "a"}))
		Expect(rendered.renderings.Load()).To(Equal(before))
	})

	It("a repair renders again if the rendering was too large for the cache, and writes only the "+
		"missing dependent", func(ctx SpecContext) {
		run(1)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a")+"\n---\n"+configMap("others", "b"),
			servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		before, mark := rendered.renderings.Load(), markAudit(ctx)
		repairs(ctx, "ConfigMap", "settings")
		Expect(rendered.renderings.Load()).To(BeNumerically(">", before))
		Expect(verbs(requestsSince(ctx, mark, operator).Writes())).To(ConsistOf("patch configmaps 201",
			"update gadgets/status 200"))
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))
	})

	It("generated values are kept although the rendering was too large for the cache", func(ctx SpecContext) {
		run(1)
		g := newGadget(ctx, namespace, "app", password+"\n---\n"+configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		made := content(ctx, "Secret", namespace, "login")
		repairs(ctx, "Secret", "login")
		repairs(ctx, "ConfigMap", "settings")
		Expect(content(ctx, "Secret", namespace, "login")).To(Equal(made))
		expectCondition(ctx, g, metav1alpha1.ConditionNonDeterministic, "True ValuesKept")
	})
})
