package conformance_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// balancedService renders the Service db, which is ready when it has an address.
func balancedService(namespace, annotations string) string {
	return "apiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: " + namespace + ", annotations: {" +
		annotations +
		"}}\nspec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: [{port: 80}]}"
}

// assignAddress gives the Service db an address, or takes its address if ip is empty.
func assignAddress(ctx context.Context, namespace, ip string) {
	GinkgoHelper()
	service := mustGet(ctx, "v1", "Service", namespace, "db")
	balancer := map[string]any{}
	if ip != "" {
		balancer["ingress"] = []any{map[string]any{"ip": ip}}
	}
	service.Object["status"] = map[string]any{"loadBalancer": balancer}
	Expect(k8s.Status().Update(ctx, service)).To(Succeed())
}

var _ = Describe("Objects that a component only observes:", func() {
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })
	observed := func(settings ...string) string {
		text := "apiVersion: v1\nkind: Service\nmetadata: {name: db, annotations: {" + settingOf(operator,
			"reconcile-policy", "observe")
		for _, s := range settings {
			text += ", " + s
		}
		return text + "}}"
	}
	requests := func(ctx context.Context, mark auditMark) []string {
		GinkgoHelper()
		return verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("services"))
	}
	waits := func(ctx context.Context, g *gadget.Gadget, why string) {
		GinkgoHelper()
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring(why)))
	}

	It("the component waits in its wave until the object is ready, reads it once after each change, and "+
		"never writes it", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{})
		mark := markAudit(ctx)
		g := newGadget(ctx, namespace, "app",
			together(observed(), configMap("first", "x"), configMap("later", "x", settingOf(operator, "order", "1"))),
			servedBy(operator))
		waits(ctx, g, "the component only observes it")
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "first") }).Should(BeTrue())
		settle(ctx, operator)
		Expect(configMapExists(ctx, namespace, "later")).To(BeFalse(), "the next wave must wait")
		Expect(requests(ctx, mark)).To(BeEmpty(), "an absent object is not read")

		create(ctx, balancedService(namespace, ""))
		waits(ctx, g, "db")
		Eventually(ctx, func() []string { return requests(ctx, mark) }).Should(Equal([]string{"get services 200"}))
		assignAddress(ctx, namespace, "10.0.0.1")
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(configMapExists(ctx, namespace, "later")).To(BeTrue())
		Expect(requests(ctx, mark)).To(Equal([]string{"get services 200", "get services 200"}), "one read for each change")
		Expect(current(ctx, g).Status.Observed).To(Equal([]string{"/v1/Service/" + namespace + "/db"}))
		Expect(current(ctx, g).Status.Dependents.Summary).To(Equal("3/3"))
		Expect(mustGet(ctx, "v1", "Service", namespace, "db").GetLabels()).To(BeEmpty())

		mark = markAudit(ctx)
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(requests(ctx, mark)).To(BeEmpty(), "nothing changed")
		stop()
		stop = runOperator(operator, operatorOptions{})
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(requests(ctx, mark)).To(Equal([]string{"get services 200"}), "one read after a restart")
		Expect(current(ctx, g).Status.State).To(Equal(metav1alpha1.StateReady))

		By("the object vanishes")
		remove(ctx, mustGet(ctx, "v1", "Service", namespace, "db"))
		waits(ctx, g, "the component only observes it")
		settle(ctx, operator)
		Expect(countConfigMaps(ctx, namespace)).To(Equal(2), "the dependents stay")
		create(ctx, balancedService(namespace, ""))
		assignAddress(ctx, namespace, "10.0.0.2")
		expectReady(ctx, g)

		By("the component is deleted")
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		Expect(mustGet(ctx, "v1", "Service", namespace, "db").GetDeletionTimestamp()).To(BeNil())
		Expect(requestsSince(ctx, 0, operator).Resource("services").Writes()).To(BeEmpty())
		stop()
	})

	It("the next wave waits until the condition ready-when of an observed object holds", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		create(ctx, "apiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: "+namespace+
			", labels: {phase: closed}}\nspec: {ports: [{port: 80}]}")
		g := newGadget(ctx, namespace, "app",
			together(observed(settingOf(operator, "ready-when", `self.metadata.labels.phase == "open"`)),
				configMap("first", "x"), configMap("later", "x", settingOf(operator, "order", "1"))), servedBy(operator))
		waits(ctx, g, `ready-when: `)
		waits(ctx, g, "closed")
		settle(ctx, operator)
		Expect(configMapExists(ctx, namespace, "first")).To(BeTrue())
		Expect(configMapExists(ctx, namespace, "later")).To(BeFalse(), "the next wave must wait")

		mark := markAudit(ctx)
		patch(ctx, mustGet(ctx, "v1", "Service", namespace, "db"), `{"metadata":{"labels":{"phase":"open"}}}`)
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(configMapExists(ctx, namespace, "later")).To(BeTrue())
		Expect(requests(ctx, mark)).To(Equal([]string{"get services 200"}), "one read for the change")

		By("the condition does not hold any more")
		patch(ctx, mustGet(ctx, "v1", "Service", namespace, "db"), `{"metadata":{"labels":{"phase":"closed"}}}`)
		waits(ctx, g, `ready-when: `)
		settle(ctx, operator)
		Expect(countConfigMaps(ctx, namespace)).To(Equal(2), "the dependents stay")
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(inNamespace(requestsSince(ctx, 0, operator), namespace).Resource("services").Writes()).To(BeEmpty())
	})

	It("an object that the component applied before is released, and neither pruned nor deleted", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(balancedService(namespace, ""), configMap("ours", "x")),
			servedBy(operator))
		Eventually(ctx, func() error { _, err := get(ctx, "v1", "Service", namespace, "db"); return err }).Should(Succeed())
		assignAddress(ctx, namespace, "10.0.0.1")
		expectReady(ctx, g)
		before := mustGet(ctx, "v1", "Service", namespace, "db")
		changeManifests(ctx, g, together(observed(), configMap("ours", "x")))
		expectReady(ctx, g)
		settle(ctx, operator)
		after := mustGet(ctx, "v1", "Service", namespace, "db")
		Expect(after.GetUID()).To(Equal(before.GetUID()))
		Expect(after.GetLabels()).NotTo(HaveKey(operator + "/owner-id"))
		Expect(after.Object["spec"]).To(Equal(before.Object["spec"]))
		Expect(current(ctx, g).Status.Inventory).To(HaveExactElements(ContainSubstring("ConfigMap")))
		changeManifests(ctx, g, configMap("ours", "x"))
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(mustGet(ctx, "v1", "Service", namespace, "db").GetUID()).To(Equal(before.GetUID()))
	})

	It("a manifest with other fields, or with settings for writes, is refused before "+
		"the first write", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app",
			together(observed(settingOf(operator, "delete-policy", "orphan"))+"\nspec: {ports: []}", configMap("ours", "x")),
			servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("False"), ContainSubstring("delete-policy: has no effect on an object")))
		changeManifests(ctx, g, together(observed()+"\nspec: {ports: []}", configMap("ours", "x")))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False"), ContainSubstring("but no spec")))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})
})
