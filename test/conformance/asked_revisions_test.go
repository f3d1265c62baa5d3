package conformance_test

import (
	"context"
	"fmt"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("A pass that ends because a rendering asked for another value:", func() {
	var namespace, operator string
	var rendered *templates
	var begun, reported atomic.Int64
	BeforeEach(func(ctx SpecContext) {
		namespace, operator, rendered = newNamespace(ctx), newOperatorName(), &templates{}
		count := func(passes *atomic.Int64) component.Hook[*gadget.Gadget] {
			return func(context.Context, *gadget.Gadget, component.DependentReader) error {
				passes.Add(1)
				return nil
			}
		}
		runOperator(operator, operatorOptions{generate: rendered, hooks: component.Hooks[*gadget.Gadget]{
			PreReconcile: count(&begun), PostReconcile: count(&reported),
		}})
	})
	// chain renders ConfigMaps that take over a value one after the other: each exports its value to the next one.
	chain := func(value string, length int) string {
		texts := []string{configMap("c0", value, settingOf(operator, "export", "v0=self.data.value"))}
		for i := 1; i < length; i++ {
			export := settingOf(operator, "export", fmt.Sprintf("v%d=self.data.value", i))
			texts = append(texts, configMap(fmt.Sprint("c", i), fmt.Sprintf("{{ export `v%d` }}", i-1), export))
		}
		return together(texts...)
	}
	patches := func(ctx context.Context, mark auditMark) []string {
		GinkgoHelper()
		var names []string
		for _, e := range inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps").Writes() {
			names = append(names, e.Verb+" "+e.Name)
		}
		return names
	}

	It("a new revision whose values change at once is one revision: one write for each object, one write "+
		"of the status", func(ctx SpecContext) {
		g := newGadget(ctx, namespace, "app", chain("a", 3), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))

		mark, passes, reports := markAudit(ctx), begun.Load(), reported.Load()
		changeManifests(ctx, g, chain("b", 3))
		Eventually(ctx, func() any { return content(ctx, "ConfigMap", namespace, "c2")["value"] }).Should(Equal("b"))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(patches(ctx, mark)).To(Equal([]string{"patch c0", "patch c1", "patch c2"}))
		status := current(ctx, g).Status
		Expect(status.Revision).To(Equal(int64(2)))
		Expect(status.AskedExports).To(Equal([]string{`v0="b"`, `v1="b"`}))
		Expect(status.History).To(HaveLen(2))
		Expect(status.History).To(HaveEach(HaveField("Outcome", Not(Equal(metav1alpha1.RevisionProgressing)))))
		Expect(requestsSince(ctx, mark, operator).Resource("gadgets").Writes().Where(func(e testcluster.Event) bool {
			return e.Subresource == "status"
		})).To(HaveLen(1))
		Expect(begun.Load()-passes).To(BeNumerically(">=", 3), "each value ends a pass")
		Expect(reported.Load()-reports).To(BeNumerically("<", begun.Load()-passes), "only the last pass makes a report")
	})

	It("a component is suspended, resumed and deleted while its values change", func(ctx SpecContext) {
		g := newGadget(ctx, namespace, "app", chain("a", 5), servedBy(operator))
		expectReady(ctx, g)
		changeManifests(ctx, g, chain("b", 5))
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, ContainSubstring("Suspended"))
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = false })
		Eventually(ctx, func() any { return content(ctx, "ConfigMap", namespace, "c4")["value"] }).Should(Equal("b"))
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(2)))
		changeManifests(ctx, g, chain("c", 5))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})
})
