package conformance_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Renderings without objects:", func() {
	It("a rendering without objects is refused until the component allows it, and then all "+
		"dependents are pruned", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMaps("cm", 3, "a"))
		expectReady(ctx, g)
		changeManifests(ctx, g, "")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True InvalidManifests"),
			ContainSubstring("the rendering is empty"), ContainSubstring("(3)")))
		Expect(countConfigMaps(ctx, namespace)).To(Equal(3))

		change(ctx, g, func(g *gadget.Gadget) { g.Spec.AllowEmpty = true })
		expectReady(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		Expect(current(ctx, g).Status.Inventory).To(BeEmpty())
	})

	It("a rendering without objects is refused also while the last dependents are being pruned", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		create(ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, namespace: "+namespace+
			", finalizers: [example.com/hold]}")
		g := newGadget(ctx, namespace, "app", together(configMap("held", "a"), configMap("settings", "a")))
		expectReady(ctx, g)
		changeManifests(ctx, g, configMap("settings", "a"))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, ContainSubstring(namespace+"/held"))
		changeManifests(ctx, g, "")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, HavePrefix("True InvalidManifests"))
		mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "held"), `{"metadata":{"finalizers":null}}`)
	})
})
