package conformance_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// dependsOn returns the setting depends-on of the operator of the suite.
func dependsOn(list string) string { return setting("depends-on", list) }

// writesIn returns the writes of an operator in a namespace since a mark, in their order: "create configmaps/a".
func writesIn(ctx context.Context, since auditMark, operator, namespace string) []string {
	GinkgoHelper()
	return tale(requestsSince(ctx, since, operator), namespace)
}

// expectWaitFor waits until the status reports the dependency that holds up an object.
func expectWaitFor(ctx context.Context, g *gadget.Gadget, name, message string) {
	GinkgoHelper()
	Eventually(ctx, func() []metav1alpha1.DependentReport { return current(ctx, g).Status.Waiting }).
		Should(ContainElement(And(
			HaveField("Dependent", HaveSuffix("/"+name)), HaveField("Reason", "DependencyNotReady"),
			HaveField("Message", ContainSubstring(message)))))
}

var _ = Describe("Dependencies between objects:", func() {
	release := func(ctx context.Context, g *gadget.Gadget) {
		GinkgoHelper()
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Manifests = removeLine(g.Spec.Manifests, "nodeSelector") })
	}

	It("a chain is applied in its order, the status names the dependency that holds an object up, and the deletion "+
		"is the reverse", func(ctx SpecContext) {
		operator, namespace := newOperatorName(), newNamespace(ctx)
		runOperator(operator, operatorOptions{})
		depends := func(list string) string { return settingOf(operator, "depends-on", list) }
		g := newGadget(ctx, namespace, "app", together(
			configMap("a", "1", depends("ConfigMap b")), configMap("b", "1", depends("Deployment.apps web")),
			heldDeployment("web"),
		), servedBy(operator))
		expectWaitFor(ctx, g, "b", "waits for Deployment.apps "+namespace+"/web: ")
		expectWaitFor(ctx, g, "a", "waits for ConfigMap "+namespace+"/b, which is held up by Deployment.apps "+
			namespace+"/web: ")
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		Expect(entryOf(ctx, g, "a").DependsOn).To(Equal("ConfigMap b"))

		release(ctx, g)
		expectReady(ctx, g)
		mark := markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(writesIn(ctx, mark, operator, namespace)).
			To(Equal([]string{"delete configmaps/a", "delete configmaps/b", "delete deployments/web"}))
	})

	It("a failing object holds up the objects that depend on it, and no others", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		other := newConfigMap(namespace, "taken")
		other.Labels = map[string]string{"other.example.com/owner-id": "x"}
		other.Annotations = map[string]string{"other.example.com/owner-id": "a/b/c/d/e/f"}
		Expect(k8s.Create(ctx, other)).To(Succeed())
		g := newGadget(ctx, namespace, "app", together(
			configMap("top", "1", dependsOn("ConfigMap left, ConfigMap right")),
			configMap("left", "1", dependsOn("ConfigMap root")),
			configMap("right", "1", dependsOn("ConfigMap taken, ConfigMap root")),
			configMap("taken", "1", order(7)), configMap("root", "1"), configMap("beside", "1", dependsOn("ConfigMap left")),
		))
		expectWaitFor(ctx, g, "right", "waits for ConfigMap "+namespace+"/taken: it is owned by ")
		expectWaitFor(ctx, g, "top", "waits for ConfigMap "+namespace+"/right, which is held up by ConfigMap "+
			namespace+"/taken: ")
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "beside") }).Should(BeTrue())
		Expect(configMapExists(ctx, namespace, "right")).To(BeFalse())
		Expect(configMapExists(ctx, namespace, "top")).To(BeFalse())

		Expect(k8s.Delete(ctx, other)).To(Succeed())
		requestPass(ctx, g, operatorName)
		expectReady(ctx, g)
	})

	It("no wave waits for an object with dependencies, and its repair does not wait for them", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		text := together(configMap("node", "1", dependsOn("Deployment.apps web")), configMap("last", "1", order(9)))
		g := newGadget(ctx, namespace, "app", together(text, deployment("web", order(-1))))
		expectReady(ctx, g)
		changeManifests(ctx, g, together(strings.Replace(text, "value: \"1\"", "value: \"2\"", 1),
			heldDeployment("web", order(10))))
		expectWaitFor(ctx, g, "node", "waits for Deployment.apps "+namespace+"/web")
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "node").Object["data"]).To(HaveKeyWithValue("value", "1"))

		changeManifests(ctx, g, together(text, heldDeployment("web", order(10))))
		node := newConfigMap(namespace, "node")
		Expect(k8s.Delete(ctx, node)).To(Succeed())
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "node") }).Should(BeTrue())
		release(ctx, g)
		expectReady(ctx, g)
	})

	It("a group means all its members, and an optional dependency counts only if it is rendered", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		member := setting("depends-on-group", "schema")
		g := newGadget(ctx, namespace, "app", together(
			configMap("node", "1", dependsOn("@schema, Job.batch missing?")), configMap("quick", "1", member),
			heldDeployment("web", member),
		))
		expectWaitFor(ctx, g, "node", "waits for Deployment.apps "+namespace+"/web: ")
		release(ctx, g)
		expectReady(ctx, g)
		change(ctx, g, func(g *gadget.Gadget) {
			g.Spec.Manifests = together(g.Spec.Manifests, job("missing", "1"))
			g.Spec.Manifests = strings.Replace(g.Spec.Manifests, "value: \"1\"", "value: \"2\"", 1)
		})
		expectWaitFor(ctx, g, "node", "waits for Job.batch "+namespace+"/missing: ")
	})

	It("a wait with a timeout counts as failed after that time, and ends when the "+
		"dependency is ready", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(
			configMap("node", "1", dependsOn("Deployment.apps web"), setting("depends-on-timeout", "1s")), heldDeployment("web"),
		))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True DependentFailed"),
			ContainSubstring("its dependencies are not ready within 1s: waits for Deployment.apps "+namespace+"/web: ")))
		release(ctx, g)
		expectReady(ctx, g)
	})

	It("cycles, missing dependencies and contradictions are reported together, and "+
		"nothing is written", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(
			configMap("a", "1", dependsOn("ConfigMap b, ConfigMap d")), configMap("b", "1", dependsOn("ConfigMap a")),
			configMap("c", "1", dependsOn("ConfigMap missing, @none")), configMap("free", "1"),
			configMap("ordered", "1", dependsOn("ConfigMap free"), order(1)),
			configMap("purged", "1", dependsOn("ConfigMap free"), setting("purge-order", "2")),
			configMap("phased", "1", dependsOn("ConfigMap free"), setting("phase", "pre-delete")),
			configMap("d", "1", dependsOn("ConfigMap e")), configMap("e", "1", dependsOn("ConfigMap d")),
		))
		settingOfObject := func(name, contradiction string) string {
			return "ConfigMap " + name + ": annotation " + operatorName + "/depends-on: contradicts " + contradiction
		}
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			ContainSubstring("ConfigMap "+namespace+"/a -> ConfigMap "+namespace+"/b -> ConfigMap "+namespace+"/a"),
			ContainSubstring("ConfigMap "+namespace+"/d -> ConfigMap "+namespace+"/e -> ConfigMap "+namespace+"/d"),
			ContainSubstring("ConfigMap "+namespace+"/missing is not in the set"),
			ContainSubstring("no object belongs to the group @none"),
			ContainSubstring(settingOfObject("ordered", "order")), ContainSubstring(settingOfObject("purged", "purge-order")),
			ContainSubstring(settingOfObject("phased", "phase"))))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("objects that are no longer rendered are pruned in reverse, and a changed dependency is recorded without "+
		"another write", func(ctx SpecContext) {
		operator, namespace := newOperatorName(), newNamespace(ctx)
		runOperator(operator, operatorOptions{})
		depends := func(list string) string { return settingOf(operator, "depends-on", list) }
		g := newGadget(ctx, namespace, "app", together(
			configMap("a", "1"), configMap("b", "1", depends("ConfigMap a")), configMap("c", "1", depends("ConfigMap b")),
		), servedBy(operator))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		changeManifests(ctx, g, configMap("c", "1", depends("ConfigMap a?")))
		expectReady(ctx, g)
		Expect(writesIn(ctx, mark, operator, namespace)).
			To(Equal([]string{"update configmaps/c", "delete configmaps/b", "delete configmaps/a"}))
		Expect(entryOf(ctx, g, "c").DependsOn).To(Equal("ConfigMap a?"))
	})

	It("a preview applies each object after its dependencies, and continues behind an object that "+
		"is not ready", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", heldDeployment("web"))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "False DependentsNotReady")
		forecast, err := foresee(ctx, g, together(heldDeployment("web"),
			configMap("b", "1", dependsOn("Deployment.apps web")),
			configMap("a", "1", dependsOn("ConfigMap b"))))
		Expect(err).NotTo(HaveOccurred())
		Expect(turns(forecast)).To(Equal([][]string{{"create configmaps/b"}, {"create configmaps/a"}}))
		Expect(forecast.Steps[1].DependsOn).To(Equal([]string{"ConfigMap b"}))
		Expect(forecast.Waiting).To(ConsistOf(HaveField("Dependent", "Deployment.apps "+namespace+"/web")))
	})

	It("the order of a deletion survives a lost record, and the deletion renders nothing", func(ctx SpecContext) {
		operator, namespace := newOperatorName(), newNamespace(ctx)
		stop := runOperator(operator, operatorOptions{})
		depends := func(list string) string { return settingOf(operator, "depends-on", list) }
		g := newGadget(ctx, namespace, "app", together(
			configMap("c", "1", settingOf(operator, "depends-on-group", "base")), configMap("b", "1", depends("@base")),
			configMap("a", "1", depends("ConfigMap b")),
		), servedBy(operator))
		expectReady(ctx, g)
		stop()
		loseStatus(ctx, g)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Manifests = "not: rendered" })
		remove(ctx, g)
		mark := markAudit(ctx)
		runOperator(operator, operatorOptions{})
		expectNotFound(ctx, g)
		Expect(writesIn(ctx, mark, operator, namespace)).
			To(Equal([]string{"delete configmaps/a", "delete configmaps/b", "delete configmaps/c"}))
	})
})
