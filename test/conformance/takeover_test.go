package conformance_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("Objects of another owner:", func() {
	always := setting("adoption-policy", "always")
	// ownerOf returns the readable owner id of an operator on an object.
	ownerOf := func(ctx context.Context, namespace, name, operator string) string {
		GinkgoHelper()
		return mustGet(ctx, "v1", "ConfigMap", namespace, name).GetAnnotations()[operator+"/owner-id"]
	}
	deletions := func(ctx context.Context, mark auditMark, namespace string) testcluster.Events {
		GinkgoHelper()
		return inNamespace(auditEvents(ctx)[mark:], namespace).Resource("configmaps").
			Where(func(e testcluster.Event) bool { return e.Verb == "delete" })
	}

	forEachPolicy(func(policy string) {
		It("an object with the adoption policy always is taken over from its controller, and is not deleted with "+
			"the controller", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			boss := create(ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: boss, namespace: "+namespace+"}")[0]
			create(ctx, fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: %s
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: boss, uid: %s, controller: true}]
data: {value: theirs, foreign: x}`, namespace, boss.GetUID()))
			before := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
			g := newGadget(ctx, namespace, "app", configMap("settings", "ours", updatePolicy(policy), always))
			expectReady(ctx, g)
			remove(ctx, boss)
			taken := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
			Expect(taken.GetUID()).To(Equal(before.GetUID()))
			Expect(taken.GetOwnerReferences()).To(BeEmpty())
			Expect(taken.Object["data"]).To(Equal(map[string]any{"value": "ours", "foreign": "x"}))

			By("detecting drift after the adoption")
			patch(ctx, taken, `{"data":{"value":"theirs again"}}`)
			Eventually(ctx, func() any { return mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"] }).
				Should(HaveKeyWithValue("value", "ours"))
		})

		It("an object moves to the component with the adoption policy always, and the other component reports the conflict "+
			"without a write", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			one := newGadget(ctx, namespace, "one", together(configMap("shared", "one", updatePolicy(policy)),
				configMap("one", "a")))
			expectReady(ctx, one)
			uid := mustGet(ctx, "v1", "ConfigMap", namespace, "shared").GetUID()
			two := newGadget(ctx, namespace, "two", configMap("shared", "two", updatePolicy(policy), always))
			expectReady(ctx, two)
			expectCondition(ctx, one, metav1alpha1.ConditionStalled, And(HavePrefix("True OwnershipConflict"),
				ContainSubstring(namespace+"/shared"), ContainSubstring(namespace+"/two")))
			settle(ctx, operatorName)

			By("deleting the object with its new owner only")
			remove(ctx, one)
			expectNotFound(ctx, one)
			shared := mustGet(ctx, "v1", "ConfigMap", namespace, "shared")
			Expect(shared.GetUID()).To(Equal(uid))
			Expect(shared.Object["data"]).To(Equal(map[string]any{"value": "two"}))
			requestPass(ctx, two, operatorName)
			expectReady(ctx, two)
			remove(ctx, two)
			expectNotFound(ctx, two)
			expectNotFound(ctx, shared)
		})

		It("an object moves between components without a deletion, if the new owner adopts the object before the old owner "+
			"stops rendering it", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			kept := configMap("kept", "a")
			one := newGadget(ctx, namespace, "one", together(configMap("moving", "a", updatePolicy(policy)), kept))
			two := newGadget(ctx, namespace, "two", configMap("other", "a"))
			expectReady(ctx, one)
			expectReady(ctx, two)
			mark := markAudit(ctx)
			changeManifests(ctx, two, together(configMap("other", "a"), configMap("moving", "a", updatePolicy(policy), always)))
			expectReady(ctx, two)
			changeManifests(ctx, one, kept)
			expectReady(ctx, one)
			Expect(ownerOf(ctx, namespace, "moving", operatorName)).To(HaveSuffix(namespace + "/two"))
			Expect(deletions(ctx, mark, namespace)).To(BeEmpty())
			Expect(current(ctx, one).Status.Inventory).To(HaveLen(1))
			expectReady(ctx, two)
		})

		It("an object moves between components without a deletion, if the old owner orphans the object before the new "+
			"owner adopts it", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			kept := configMap("kept", "a")
			one := newGadget(ctx, namespace, "one",
				together(configMap("moving", "a", updatePolicy(policy), deletePolicy("orphan-on-apply")), kept))
			two := newGadget(ctx, namespace, "two", configMap("other", "a"))
			expectReady(ctx, one)
			expectReady(ctx, two)
			mark := markAudit(ctx)
			changeManifests(ctx, one, kept)
			expectReady(ctx, one)
			changeManifests(ctx, two, together(configMap("other", "a"), configMap("moving", "b", updatePolicy(policy))))
			expectReady(ctx, two)
			Expect(ownerOf(ctx, namespace, "moving", operatorName)).To(HaveSuffix(namespace + "/two"))
			Expect(deletions(ctx, mark, namespace)).To(BeEmpty())
		})

		It("an object is taken over from another operator: the labels of that operator are removed, and that operator "+
			"reports the conflict without a write", func(ctx SpecContext) {
			namespace, operator := newNamespace(ctx), newOperatorName()
			runOperator(operator, operatorOptions{})
			one := newGadget(ctx, namespace, "one",
				together(configMap("shared", "one", operator+"/order: '1'", operator+"/adoption-policy: always"),
					configMap("one", "a")), servedBy(operator))
			expectReady(ctx, one)
			two := newGadget(ctx, namespace, "two", configMap("shared", "two", updatePolicy(policy), always))
			expectReady(ctx, two)
			expectCondition(ctx, one, metav1alpha1.ConditionStalled, And(HavePrefix("True OwnershipConflict"),
				ContainSubstring(operatorName)))
			expectReady(ctx, two)
			shared := mustGet(ctx, "v1", "ConfigMap", namespace, "shared")
			Expect(shared.GetLabels()).NotTo(HaveKey(HavePrefix(operator)))
			Expect(shared.GetAnnotations()).NotTo(HaveKey(HavePrefix(operator)))
			remove(ctx, one)
			expectNotFound(ctx, one)
			Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "shared").Object["data"]).To(Equal(map[string]any{"value": "two"}))
		})
	})

	It("an object that two components adopt with the policy always stays with one of them, until a "+
		"component changes", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		text := func(value string) string { return together(configMaps("shared", 5, value, always)) }
		gadgets := []*gadget.Gadget{newGadget(ctx, namespace, "one", text("a")), newGadget(ctx, namespace, "two", text("b"))}
		for _, g := range gadgets {
			expectCondition(ctx, g, metav1alpha1.ConditionReady,
				Or(HavePrefix("True Ready"), HavePrefix("False OwnershipConflict")))
		}
		settle(ctx, operatorName)
		mark := markAudit(ctx)
		for _, g := range gadgets {
			requestPass(ctx, g, operatorName)
		}
		settle(ctx, operatorName)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operatorName), namespace).Resource("configmaps"))).To(BeEmpty())

		changeManifests(ctx, gadgets[0], text("c"))
		expectReady(ctx, gadgets[0])
		expectCondition(ctx, gadgets[1], metav1alpha1.ConditionStalled,
			And(ContainSubstring("taken over"), ContainSubstring(namespace+"/one")))
	})

	It("if two operators with the adoption policy always adopt the same object at once, the object has a single "+
		"owner in the end", func(ctx SpecContext) {
		target, operators := newNamespace(ctx), []string{newOperatorName(), newOperatorName()}
		const count = 10
		text := configMaps("cm", count, "a")
		for _, operator := range operators {
			runOperator(operator, operatorOptions{
				component: component.Options{
					Dependents: component.Dependents{Policies: metav1alpha1.Policies{Adoption: metav1alpha1.AdoptAlways}},
				},
			})
		}
		for _, operator := range operators {
			g := newGadget(ctx, newNamespace(ctx), "app", text,
				servedBy(operator), func(g *gadget.Gadget) { g.Spec.TargetNamespace = target })
			defer expectCondition(ctx, g, metav1alpha1.ConditionReady,
				Or(HavePrefix("True Ready"), HavePrefix("False OwnershipConflict")))
		}
		Eventually(ctx, func() int { return countConfigMaps(ctx, target) }).Should(Equal(count))
		for _, operator := range append(operators, operators...) {
			settle(ctx, operator)
		}
		for i := range count {
			Eventually(ctx, func() map[string]string {
				return mustGet(ctx, "v1", "ConfigMap", target, fmt.Sprintf("cm-%d", i)).GetLabels()
			}).Should(HaveLen(1), "want only one label on each ConfigMap, the owner label")
		}
		mark := markAudit(ctx)
		Consistently(ctx, func() int { return len(inNamespace(auditEvents(ctx)[mark:], target).Writes()) }).
			WithPolling(300 * time.Millisecond).Should(BeZero())
	})

	It("an ownership conflict is found without a request if the operator watches the object", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		expectReady(ctx, newGadget(ctx, namespace, "one", configMap("shared", "a")))
		settle(ctx, operatorName)
		mark := markAudit(ctx)
		two := newGadget(ctx, namespace, "two", together(configMap("mine", "a"), configMap("shared", "b", order(1))))
		expectCondition(ctx, two, metav1alpha1.ConditionStalled, HavePrefix("True OwnershipConflict"))
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operatorName), namespace).Resource("configmaps"))).
			To(Equal([]string{"patch configmaps 201"}))
	})

	It("the component's default adoption policy applies if the manifest sets no adoption policy, and a change of the "+
		"default makes no revision", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		create(ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: "+namespace+"}")
		g := newGadget(ctx, namespace, "app",
			configMap("settings", "a"), func(g *gadget.Gadget) { g.Spec.Policies.Adoption = metav1alpha1.AdoptNever })
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, HavePrefix("True OwnershipConflict"))
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Policies.Adoption = metav1alpha1.AdoptIfUnowned })
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.Revision).To(BeEquivalentTo(1))
	})
})
