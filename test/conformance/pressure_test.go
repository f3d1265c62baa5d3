package conformance_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Types in several versions:", func() {
	// definition renders a definition with a new version, in which objects are stored, and an old version if old is set.
	definition := func(group, stored string, old bool) string {
		text := strings.Replace(widgetDefinition(group), "      storage: true",
			"      storage: "+fmt.Sprint(stored == "v1"), 1)
		if !old {
			text = strings.Replace(text, "      served: true", "      served: false", 1)
		}
		version := text[strings.Index(text, "    - name: v1"):]
		version = strings.NewReplacer("name: v1", "name: v2", "storage: true", "storage: false", "storage: false",
			"storage: true", "served: false", "served: true").Replace(version)
		if stored == "v2" {
			return text + "\n" + version
		}
		return text
	}

	It("a type and its instances are upgraded to a new version together", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		v2 := func(text string) string { return strings.Replace(text, "/v1\nkind: Widget", "/v2\nkind: Widget", 1) }
		g := newGadget(ctx, namespace, "app", together(definition(group, "v1", true), widget(group, "one")))
		expectReady(ctx, g)
		before := mustGet(ctx, group+"/v1", "Widget", namespace, "one").GetUID()
		changeManifests(ctx, g, together(definition(group, "v2", true), v2(widget(group, "one"))))
		expectReady(ctx, g)
		after := mustGet(ctx, group+"/v2", "Widget", namespace, "one")
		Expect(after.GetUID()).To(Equal(before))
		Expect(current(ctx, g).Status.Inventory).To(ContainElement(HavePrefix(group + "/v2/Widget/")))

		By("continuing when the old version is no longer served")
		changeManifests(ctx, g, together(definition(group, "v2", false), v2(widget(group, "one"))))
		expectReady(ctx, g)
		patch(ctx, after, `{"spec":{"size":9}}`)
		Eventually(ctx, func() any { return mustGet(ctx, group+"/v2", "Widget", namespace, "one").Object["spec"] }).
			Should(HaveKeyWithValue("size", int64(1)))
		remove(ctx, g)
		expectNotFound(ctx, g)
	})
})

var _ = Describe("Components under load:", slow, func() {
	It("dependents that are deleted again and again are created again each time", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMaps("cm", 5, "a"))
		expectReady(ctx, g)
		for range 10 {
			for i := range 5 {
				_ = k8s.Delete(ctx, newConfigMap(namespace, fmt.Sprintf("cm-%d", i))) // The object may not exist.
			}
		}
		Eventually(ctx, func() int { return countConfigMaps(ctx, namespace) }).Should(Equal(5))
		Eventually(ctx, func(a Gomega) {
			status := current(ctx, g).Status
			a.Expect(status.State).To(Equal(metav1alpha1.StateReady))
			for i := range 5 {
				live := newConfigMap(namespace, fmt.Sprintf("cm-%d", i))
				a.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(live), live)).To(Succeed())
				a.Expect(status.Inventory).To(ContainElement(ContainSubstring(string(live.UID))))
			}
		}).Should(Succeed())
	})

	It("many components with equal manifests are applied and deleted", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		var gadgets []*gadget.Gadget
		for i := range 40 {
			gadgets = append(gadgets, newGadget(ctx, namespace, fmt.Sprintf("app-%d", i),
				configMaps(fmt.Sprintf("cm-%d", i), 3, "a")))
		}
		for _, g := range gadgets {
			expectReady(ctx, g)
		}
		Expect(succeeded(writes(ctx, operatorName, namespace).Resource("configmaps"))).To(HaveLen(120))
		for _, g := range gadgets {
			remove(ctx, g)
		}
		for _, g := range gadgets {
			expectNotFound(ctx, g)
		}
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("a component is deleted while its spec changes", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMaps("cm", 20, "a"))
		expectReady(ctx, g)
		remove(ctx, g)
		for i := range 5 {
			found := &gadget.Gadget{}
			if k8s.Get(ctx, client.ObjectKeyFromObject(g), found) != nil {
				break
			}
			found.Spec.Manifests = configMaps("more", 5+i, "a")
			_ = k8s.Update(ctx, found) // The component may have been deleted or changed.
		}
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})
})
