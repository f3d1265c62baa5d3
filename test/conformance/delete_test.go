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

// deleteOrder returns the setting of a delete order.
func deleteOrder(wave int) string { return setting("delete-order", fmt.Sprint(wave)) }

var _ = Describe("Deletions of components:", func() {
	// deleted returns the deleted objects in the order of their deletion: ConfigMaps by name, and objects of other types
	// by resource.
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

	It("a deletion runs the waves in reverse order", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(configMap("a", "x", order(-3)), configMap("b", "x"),
			configMap("c", "x", order(9))))
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(deleted(ctx, none, namespace)).To(Equal([]string{"c", "b", "a"}))
	})

	It("a deletion follows the delete order if it is set", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(
			configMap("a", "x", order(1), deleteOrder(5)), configMap("b", "x", order(2)),
			configMap("c", "x", order(3), deleteOrder(-7))))
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(deleted(ctx, none, namespace)).To(Equal([]string{"c", "b", "a"}))
	})

	It("a deletion runs the stages in reverse order: instances, workloads, configuration, "+
		"definitions, namespaces", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		inner := namespace + "-inner"
		g := newGadget(ctx, namespace, "app", together(
			widgetDefinition(group), widget(group, "one"), configMap("settings", "x"), deployment("web"),
			namespaceManifest(inner)))
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(deleted(ctx, func(name string) bool { return name == inner || strings.HasSuffix(name, group) }, namespace)).
			To(Equal([]string{"widgets", "deployments", "settings", "customresourcedefinitions", inner}))
	})

	It("the deletion of n dependents needs at most n and four requests", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMaps("cm", 20, "a"))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		requests := inNamespace(requestsSince(ctx, mark, operatorName), namespace)
		Expect(len(requests)).To(BeNumerically("<=", 24), "%v", verbs(requests))
	})

	It("a deletion waits while a dependent has finalizers of other controllers, and the condition names "+
		"the dependent", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(configMap("held", "a", order(1)), configMap("next", "a")))
		expectReady(ctx, g)
		held := mustGet(ctx, "v1", "ConfigMap", namespace, "held")
		patch(ctx, held, `{"metadata":{"finalizers":["example.com/hold"]}}`)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling,
			And(HavePrefix("True Deleting"), ContainSubstring("ConfigMap "+namespace+"/held")))
		Expect(current(ctx, g).Finalizers).NotTo(BeEmpty())
		mustGet(ctx, "v1", "ConfigMap", namespace, "next")
		patch(ctx, held, `{"metadata":{"finalizers":null}}`)
		expectNotFound(ctx, g)
		Expect(deleted(ctx, none, namespace)).To(Equal([]string{"held", "next"}))
	})

	It("a deletion ends although a client removed the owner label from a dependent while a finalizer delayed the "+
		"dependent's deletion", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("held", "a"))
		expectReady(ctx, g)
		held := mustGet(ctx, "v1", "ConfigMap", namespace, "held")
		patch(ctx, held, `{"metadata":{"finalizers":["example.com/hold"]}}`)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling,
			And(HavePrefix("True Deleting"), ContainSubstring("ConfigMap "+namespace+"/held")))
		patch(ctx, held, fmt.Sprintf(`{"metadata":{"labels":{"%s/owner-id":null}}}`, operatorName))
		settle(ctx, operatorName)
		patch(ctx, held, `{"metadata":{"finalizers":null}}`)
		expectNotFound(ctx, g)
	})

	It("no dependent is deleted while the component has finalizers of other controllers", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app",
			configMap("settings", "a"), func(g *gadget.Gadget) { g.Finalizers = []string{"example.com/hold"} })
		expectReady(ctx, g)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling, And(HavePrefix("True ForeignFinalizers"),
			ContainSubstring("example.com/hold")))
		mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
		change(ctx, g, func(g *gadget.Gadget) {
			g.Finalizers = slices.DeleteFunc(g.Finalizers, func(f string) bool { return f == "example.com/hold" })
		})
		expectNotFound(ctx, g)
		Expect(deleted(ctx, none, namespace)).To(Equal([]string{"settings"}))
	})

	It("a component is deleted while its rendering fails", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"))
		expectReady(ctx, g)
		changeManifests(ctx, g, "rubbish: [")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "GenerateFailed")
		mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(deleted(ctx, none, namespace)).To(Equal([]string{"settings"}))
	})

	It("a component is deleted while it is suspended", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"))
		expectReady(ctx, g)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(deleted(ctx, none, namespace)).To(Equal([]string{"settings"}))
	})

	It("a deletion ends when other clients have deleted the dependents", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), widgetDefinition(group),
			widget(group, "one")))
		expectReady(ctx, g)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")
		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"))
		crd := mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)
		remove(ctx, crd)
		expectNotFound(ctx, crd)
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("a deletion of a component that was never applied ends", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", "rubbish: [")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "GenerateFailed")
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("a deletion does not delete an object that another client created in place of a dependent, or an object that now "+
		"has another owner", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(configMap("replaced", "a"), configMap("taken", "a"),
			configMap("ours", "a")))
		expectReady(ctx, g)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")
		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "replaced"))
		create(ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: replaced, namespace: "+namespace+"}")
		patchAs(ctx, operatorName, mustGet(ctx, "v1", "ConfigMap", namespace, "taken"), fmt.Sprintf(
			`{"metadata":{"labels":{"%s/owner-id":"6d072c20183f164c974cae4d07a2c3538fdf420c"},"annotations":{"%s/owner-id":"somebody else"}}}`, operatorName, operatorName))
		remove(ctx, g)
		expectNotFound(ctx, g)
		mustGet(ctx, "v1", "ConfigMap", namespace, "replaced")
		mustGet(ctx, "v1", "ConfigMap", namespace, "taken")
		Expect(deleted(ctx, none, namespace)).To(Equal([]string{"ours"}))
	})

	It("if the operator has no right to delete a dependent, the condition names the dependent, and the "+
		"operator retries", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		refused := &refusal{
			path: "/namespaces/" + namespace + "/configmaps/settings", method: "DELETE",
			code: http.StatusUnprocessableEntity,
		}
		refused.on.Store(true)
		runOperator(operator, operatorOptions{transport: refused.wrap})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator), retryLate)
		expectReady(ctx, g)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			HavePrefix("True DependentFailed"), ContainSubstring(namespace+"/settings"), ContainSubstring("not today"),
			ContainSubstring("continues")))
		Expect(current(ctx, g).Status.State).To(Equal(metav1alpha1.StateStalled))
		refused.on.Store(false)
		expectNotFound(ctx, g)
	})

	It("a component can be created again under the name of a deleted component", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		text := together(configMaps("cm", 10, "a"), deployment("web"))
		g := newGadget(ctx, namespace, "app", text)
		expectReady(ctx, g)
		for range 3 {
			remove(ctx, g)
			expectNotFound(ctx, g)
			g = newGadget(ctx, namespace, "app", text)
		}
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.Inventory).To(HaveLen(11))
	})

	It("the deletion of a component ends an apply that is in progress, and leaves no dependent", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMaps("cm", 100, "a"))
		Eventually(ctx, func() []string { return current(ctx, g).Status.Inventory }).ShouldNot(BeEmpty())
		remove(ctx, g)
		expectNotFound(ctx, g)
		_, err := get(ctx, "v1", "ConfigMap", namespace, "cm-99")
		Expect(err).To(HaveOccurred())
		Expect(deleted(ctx, none, namespace)).
			To(HaveLen(len(succeeded(writes(ctx, operatorName, namespace).Resource("configmaps").Verb("patch")))))
	})
})
