package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// deleteOrder is the setting of a delete order.
func deleteOrder(wave int) string { return setting("delete-order", fmt.Sprint(wave)) }

var _ = Describe("Deleting a component", func() {
	// deleted returns the names, or for other types than ConfigMaps the resources, in the order in which they were
	// deleted.
	deleted := func(ctx context.Context, match func(name string) bool, namespace string) []string {
		GinkgoHelper()
		var names []string
		for _, e := range succeeded(requestsSince(ctx, 0, operatorName).Verb("delete")) {
			switch {
			case e.Namespace == namespace && e.Resource == "configmaps", e.Resource == "namespaces" && match(e.Name):
				names = append(names, e.Name)
			case e.Namespace == namespace, match(e.Name):
				names = append(names, e.Resource)
			}
		}
		return slices.Compact(names)
	}
	none := func(string) bool { return false }

	It("goes through the waves backwards", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(configMap("a", "x", order(-3)), configMap("b", "x"), configMap("c", "x", order(9))))
		expectReady(ctx, g)
		remove(ctx, g)
		expectGone(ctx, g)
		Expect(deleted(ctx, none, namespace)).To(Equal([]string{"c", "b", "a"}))
	})

	It("follows the delete order where there is one", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(
			configMap("a", "x", order(1), deleteOrder(5)), configMap("b", "x", order(2)), configMap("c", "x", order(3), deleteOrder(-7))))
		expectReady(ctx, g)
		remove(ctx, g)
		expectGone(ctx, g)
		Expect(deleted(ctx, none, namespace)).To(Equal([]string{"c", "b", "a"}))
	})

	It("goes through the stages backwards: instances, workloads, configuration, definitions, namespaces", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		inner := namespace + "-inner"
		g := newGadget(ctx, namespace, "app", together(
			widgetDefinition(group), widget(group, "one"), configMap("settings", "x"), deployment("web"), namespaceManifest(inner)))
		expectReady(ctx, g)
		remove(ctx, g)
		expectGone(ctx, g)
		Expect(deleted(ctx, func(name string) bool { return name == inner || strings.HasSuffix(name, group) }, namespace)).
			To(Equal([]string{"widgets", "deployments", "settings", "customresourcedefinitions", inner}))
	})

	It("needs no more than a request for each dependent, and four", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMaps("cm", 20, "a"))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		remove(ctx, g)
		expectGone(ctx, g)
		requests := inNamespace(requestsSince(ctx, mark, operatorName), namespace)
		Expect(len(requests)).To(BeNumerically("<=", 24), "%v", verbs(requests))
	})

	It("waits for the finalizers of others on a dependent, and names it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(configMap("held", "a", order(1)), configMap("next", "a")))
		expectReady(ctx, g)
		held := mustGet(ctx, "v1", "ConfigMap", namespace, "held")
		patch(ctx, held, `{"metadata":{"finalizers":["example.com/hold"]}}`)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling, And(HavePrefix("True Deleting"), ContainSubstring("ConfigMap "+namespace+"/held")))
		Expect(current(ctx, g).Finalizers).NotTo(BeEmpty())
		mustGet(ctx, "v1", "ConfigMap", namespace, "next")
		patch(ctx, held, `{"metadata":{"finalizers":null}}`)
		expectGone(ctx, g)
		Expect(deleted(ctx, none, namespace)).To(Equal([]string{"held", "next"}))
	})

	It("ends although somebody took the label off a dependent that finalizers hold", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("held", "a"))
		expectReady(ctx, g)
		held := mustGet(ctx, "v1", "ConfigMap", namespace, "held")
		patch(ctx, held, `{"metadata":{"finalizers":["example.com/hold"]}}`)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling, And(HavePrefix("True Deleting"), ContainSubstring("ConfigMap "+namespace+"/held")))
		patch(ctx, held, fmt.Sprintf(`{"metadata":{"labels":{"%s/owner-id":null}}}`, operatorName))
		settle(ctx, operatorName)
		patch(ctx, held, `{"metadata":{"finalizers":null}}`)
		expectGone(ctx, g)
	})

	It("leaves the dependents alone while the component has finalizers of others", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), func(g *gadget.Gadget) { g.Finalizers = []string{"example.com/hold"} })
		expectReady(ctx, g)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling, And(HavePrefix("True ForeignFinalizers"), ContainSubstring("example.com/hold")))
		mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
		change(ctx, g, func(g *gadget.Gadget) {
			g.Finalizers = slices.DeleteFunc(g.Finalizers, func(f string) bool { return f == "example.com/hold" })
		})
		expectGone(ctx, g)
		Expect(deleted(ctx, none, namespace)).To(Equal([]string{"settings"}))
	})

	It("works while rendering does not", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"))
		expectReady(ctx, g)
		changeManifests(ctx, g, "rubbish: [")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "GenerateFailed")
		mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
		remove(ctx, g)
		expectGone(ctx, g)
		Expect(deleted(ctx, none, namespace)).To(Equal([]string{"settings"}))
	})

	It("works while it is suspended", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"))
		expectReady(ctx, g)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")
		remove(ctx, g)
		expectGone(ctx, g)
		Expect(deleted(ctx, none, namespace)).To(Equal([]string{"settings"}))
	})

	It("finishes when its dependents were deleted behind its back", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), widgetDefinition(group), widget(group, "one")))
		expectReady(ctx, g)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")
		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"))
		crd := mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)
		remove(ctx, crd)
		expectGone(ctx, crd)
		remove(ctx, g)
		expectGone(ctx, g)
	})

	It("finishes when it was never applied", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", "rubbish: [")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "GenerateFailed")
		remove(ctx, g)
		expectGone(ctx, g)
	})

	It("leaves an object alone that took the place of a dependent, or that somebody else owns by now", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(configMap("replaced", "a"), configMap("taken", "a"), configMap("ours", "a")))
		expectReady(ctx, g)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")
		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "replaced"))
		create(ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: replaced, namespace: "+namespace+"}")
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "taken"), fmt.Sprintf(
			`{"metadata":{"labels":{"%s/owner-id":"6d072c20183f164c974cae4d07a2c3538fdf420c"},"annotations":{"%s/owner-id":"somebody else"}}}`, operatorName, operatorName))
		remove(ctx, g)
		expectGone(ctx, g)
		mustGet(ctx, "v1", "ConfigMap", namespace, "replaced")
		mustGet(ctx, "v1", "ConfigMap", namespace, "taken")
		Expect(deleted(ctx, none, namespace)).To(Equal([]string{"ours"}))
	})

	It("names a dependent that may not be deleted, and tries again", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		refused := &refusal{path: "/namespaces/" + namespace + "/configmaps/settings", method: "DELETE", code: http.StatusUnprocessableEntity}
		refused.on.Store(true)
		runOperator(operator, operatorOptions{transport: refused.wrap})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator), retryLate)
		expectReady(ctx, g)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			HavePrefix("True DependentFailed"), ContainSubstring(namespace+"/settings"), ContainSubstring("not today"), ContainSubstring("goes on")))
		Expect(current(ctx, g).Status.State).To(Equal(metav1alpha1.StateStalled))
		refused.on.Store(false)
		expectGone(ctx, g)
	})

	It("makes room for a component of the same name", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		text := together(configMaps("cm", 10, "a"), deployment("web"))
		g := newGadget(ctx, namespace, "app", text)
		expectReady(ctx, g)
		for range 3 {
			remove(ctx, g)
			expectGone(ctx, g)
			g = newGadget(ctx, namespace, "app", text)
		}
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.Inventory).To(HaveLen(11))
	})

	It("ends an apply that is under way, and leaves nothing", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMaps("cm", 100, "a"))
		Eventually(ctx, func() []string { return current(ctx, g).Status.Inventory }).ShouldNot(BeEmpty())
		remove(ctx, g)
		expectGone(ctx, g)
		_, err := get(ctx, "v1", "ConfigMap", namespace, "cm-99")
		Expect(err).To(HaveOccurred())
		Expect(deleted(ctx, none, namespace)).To(HaveLen(len(succeeded(writes(ctx, operatorName, namespace).Resource("configmaps").Verb("patch")))))
	})
})
