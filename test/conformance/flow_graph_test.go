package conformance_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Dependencies, exported values and observed objects together:", func() {
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })
	set := func(name, value string) string { return settingOf(operator, name, value) }
	observed := func(settings string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: db, annotations: {" + set("reconcile-policy", "observe") +
			settings + "}}"
	}
	value := func(ctx context.Context, name string) any {
		GinkgoHelper()
		data, _ := mustGet(ctx, "v1", "ConfigMap", namespace, name).Object["data"].(map[string]any)
		return data["value"]
	}
	exposed := func(value string) func(*gadget.Gadget) {
		return func(g *gadget.Gadget) { g.Spec.Parameters = map[string]string{"exposed": value} }
	}

	It("an object with dependencies exports and binds values, a value is a dependency, and the deletion "+
		"is the reverse", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(
			configMap("wave", "${{ c }}", set("bind", "true")),
			configMap("a", "x", set("depends-on", "ConfigMap z")),
			configMap("b", "${{ c }}-b", set("depends-on", "ConfigMap z"), set("bind", "true")),
			configMap("c", "value-c", set("depends-on", "Deployment.apps db"), set("export", "c=self.data.value")),
			configMap("z", "x"), heldDeployment("db")), servedBy(operator))
		expectWaitFor(ctx, g, "c", "waits for Deployment.apps "+namespace+"/db: ")
		Eventually(ctx, func() []metav1alpha1.DependentReport { return current(ctx, g).Status.Waiting }).
			Should(ContainElement(And(
				HaveField("Dependent", HaveSuffix("/b")), HaveField("Reason", "ExportMissing"),
				HaveField("Message", ContainSubstring("export c of ConfigMap "+namespace+"/c: the object does not exist")))))
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "a") }).Should(BeTrue())
		Expect(countConfigMaps(ctx, namespace)).To(Equal(2))

		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Manifests = removeLine(g.Spec.Manifests, "nodeSelector") })
		expectReady(ctx, g)
		Expect(value(ctx, "wave")).To(Equal("value-c"))
		Expect(value(ctx, "b")).To(Equal("value-c-b"))
		Expect(entryOf(ctx, g, "b").DependsOn).To(Equal("ConfigMap z, ConfigMap " + namespace + "/c"))

		settle(ctx, operator)
		mark := markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		writes := writesIn(ctx, mark, operator, namespace)
		Expect(writes).To(HaveLen(6))
		for _, pair := range [][2]string{{"b", "c"}, {"a", "z"}, {"b", "z"}} {
			before, after := "delete configmaps/"+pair[0], "delete configmaps/"+pair[1]
			Expect(indexOf(writes, before)).To(BeNumerically("<", indexOf(writes, after)), "%v", writes)
		}
		Expect(indexOf(writes, "delete configmaps/c")).To(BeNumerically("<", indexOf(writes, "delete deployments/db")),
			"%v", writes)
	})

	It("a cycle of dependencies and values is reported as a whole before the first write", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(
			configMap("fine", "x"), configMap("a", "${{ b }}", set("bind", "true")),
			configMap("b", "x", set("depends-on", "ConfigMap a"), set("export", "b=self.data.value"))), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False"), ContainSubstring(
			"ConfigMap "+namespace+"/a needs ConfigMap "+namespace+"/b -> ConfigMap "+namespace+"/a")))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("others depend on an observed object and its condition ready-when, and no wave waits for an observed object with "+
		"dependencies", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(
			configMap("web", "x", set("depends-on", "Service db")), heldDeployment("first"),
			configMap("last", "x", set("order", "0")),
			observed(", "+set("depends-on", "Deployment.apps first")+", "+set("ready-when",
				`self.metadata.labels.phase == "open"`))), servedBy(operator))
		create(ctx, "apiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: "+namespace+
			", labels: {phase: closed}}\nspec: {ports: [{port: 80}]}")
		expectWaitFor(ctx, g, "web", "waits for Service "+namespace+"/db, which is held up by Deployment.apps "+
			namespace+"/first: ")
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "last") }).Should(BeTrue())
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Manifests = removeLine(g.Spec.Manifests, "nodeSelector") })
		expectWaitFor(ctx, g, "web", `waits for Service `+namespace+`/db: ready-when: `)
		Expect(configMapExists(ctx, namespace, "web")).To(BeFalse())
		patch(ctx, mustGet(ctx, "v1", "Service", namespace, "db"), `{"metadata":{"labels":{"phase":"open"}}}`)
		expectReady(ctx, g)
		Expect(configMapExists(ctx, namespace, "web")).To(BeTrue())
		Expect(inNamespace(requestsSince(ctx, 0, operator), namespace).Resource("services").Writes()).To(BeEmpty())
	})

	It("an excluded observed object is not awaited, an applied object becomes observed and is not deleted, and its "+
		"binders are excluded", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		const condition = "parameters.exposed == 'yes'"
		binder := configMap("web", "${{ ip }}", set("bind", "true"))
		g := newGadget(ctx, namespace, "app", together(binder, configMap("plain", "x"),
			observed(", "+set("include-when", condition)+", "+set("export", "ip=self.status.loadBalancer.ingress[0].ip"))),
			servedBy(operator), exposed("no"))
		expectReady(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(Equal(1), "the binder is excluded with the exporter")

		change(ctx, g, exposed("yes"))
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("False"), ContainSubstring("the component only observes it")))
		create(ctx, balancedService(namespace, ""))
		assignAddress(ctx, namespace, "10.0.0.1")
		expectReady(ctx, g)
		Expect(value(ctx, "web")).To(Equal("10.0.0.1"))

		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Parameters = nil })
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("False"), ContainSubstring("reads a parameter that is not set")))
		Expect(value(ctx, "web")).To(Equal("10.0.0.1"), "a condition without a value deletes nothing")

		change(ctx, g, exposed("no"))
		expectReady(ctx, g)
		Expect(configMapExists(ctx, namespace, "web")).To(BeFalse())

		By("an object that the component applied")
		change(ctx, g, func(g *gadget.Gadget) {
			g.Spec.Manifests = together(configMap("plain", "x"),
				"apiVersion: v1\nkind: Service\nmetadata: {name: other}\nspec: {ports: [{port: 80}]}")
		})
		expectReady(ctx, g)
		other := mustGet(ctx, "v1", "Service", namespace, "other")
		change(ctx, g, func(g *gadget.Gadget) {
			g.Spec.Manifests = together(configMap("plain", "x"),
				"apiVersion: v1\nkind: Service\nmetadata: {name: other, annotations: {"+
					set("reconcile-policy", "observe")+", "+set("include-when", condition)+"}}")
		})
		Eventually(ctx, func() []string { return current(ctx, g).Status.Inventory }).Should(HaveLen(1))
		expectReady(ctx, g)
		live := mustGet(ctx, "v1", "Service", namespace, "other")
		Expect(live.GetUID()).To(Equal(other.GetUID()))
		Expect(live.GetLabels()).NotTo(HaveKey(operator + "/owner-id"))
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "db"}, live)).To(Succeed())
	})
})

// indexOf returns the index of a text, or the number of texts if it is not among them.
func indexOf(texts []string, text string) int {
	for i := range texts {
		if texts[i] == text {
			return i
		}
	}
	return len(texts)
}
