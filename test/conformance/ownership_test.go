package conformance_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Objects that exist before they are applied:", func() {
	// existing creates the ConfigMap settings.
	existing := func(ctx context.Context, namespace, metadata string) {
		GinkgoHelper()
		create(ctx, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: %s, %s}\n"+
			"data: {value: theirs, foreign: x}", namespace, metadata))
	}

	forEachPolicy(func(policy string) {
		It("an object without an owner is adopted, and keeps the fields of other managers", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			existing(ctx, namespace, "labels: {foreign: x}, finalizers: [example.com/theirs]")
			before := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
			g := newGadget(ctx, namespace, "app", configMap("settings", "ours", updatePolicy(policy)))
			expectReady(ctx, g)
			adopted := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
			Expect(adopted.GetUID()).To(Equal(before.GetUID()))
			Expect(adopted.Object["data"]).To(Equal(map[string]any{"value": "ours", "foreign": "x"}))
			Expect(adopted.GetLabels()).To(And(HaveKeyWithValue("foreign", "x"), HaveKeyWithValue("team", "blue"),
				HaveKey(operatorName+"/owner-id")))
			Expect(adopted.GetFinalizers()).To(ConsistOf("example.com/theirs"))

			By("detecting drift after the adoption")
			patch(ctx, adopted, `{"data":{"value":"theirs again"},"metadata":{"finalizers":null}}`)
			Eventually(ctx, func() any { return mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"] }).
				Should(Equal(map[string]any{"value": "ours", "foreign": "x"}))
		})

		It("an existing object that a controller owns is an ownership conflict", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			boss := create(ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: boss, namespace: "+namespace+"}")[0]
			existing(ctx, namespace,
				fmt.Sprintf("ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: boss, uid: %s, controller: true}]",
					boss.GetUID()))
			g := newGadget(ctx, namespace, "app", configMap("settings", "ours", updatePolicy(policy)))
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
				HavePrefix("True OwnershipConflict"), ContainSubstring("ConfigMap "+namespace+"/settings"),
				ContainSubstring("ConfigMap boss")))
			Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"]).To(HaveKeyWithValue("value", "theirs"))
		})

		It("an existing object with the adoption policy never is an ownership conflict", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			existing(ctx, namespace, "labels: {}")
			g := newGadget(ctx, namespace, "app", configMap("settings", "ours", updatePolicy(policy),
				setting("adoption-policy", "never")))
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True OwnershipConflict"),
				ContainSubstring(namespace+"/settings")))
			Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"]).To(HaveKeyWithValue("value", "theirs"))
		})

		It("an ownership conflict does not block the apply of other dependents, but blocks pruning", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			existing(ctx, namespace,
				`labels: {other.example.com/owner-id: abc}, annotations: {other.example.com/owner-id: cluster/other.example.com/x}`)
			g := newGadget(ctx, namespace, "app", configMap("old", "a"))
			expectReady(ctx, g)
			changeManifests(ctx, g, together(configMap("settings", "ours", updatePolicy(policy)),
				configMap("sibling", "a", updatePolicy(policy)), configMap("later", "a", order(1))))
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True OwnershipConflict"),
				ContainSubstring("other.example.com/x")))
			mustGet(ctx, "v1", "ConfigMap", namespace, "sibling")
			mustGet(ctx, "v1", "ConfigMap", namespace, "old")
			Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"]).To(HaveKeyWithValue("value", "theirs"))
			_, err := get(ctx, "v1", "ConfigMap", namespace, "later")
			Expect(err).To(HaveOccurred())

			By("continuing at the next pass after the conflict is resolved")
			remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"))
			requestPass(ctx, g, operatorName)
			expectReady(ctx, g)
			_, err = get(ctx, "v1", "ConfigMap", namespace, "old")
			Expect(err).To(HaveOccurred())
		})

		It("if two components render the same objects, each object belongs to one component until this "+
			"component is deleted", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			text := configMaps("shared", 5, "a", updatePolicy(policy))
			gadgets := []*gadget.Gadget{
				newGadget(ctx, namespace, "one", text, retryLate),
				newGadget(ctx, namespace, "two", text, retryLate),
			}
			for _, g := range gadgets {
				expectCondition(ctx, g, metav1alpha1.ConditionReady,
					Or(HavePrefix("True Ready"), HavePrefix("False OwnershipConflict")))
			}
			By("transferring the objects to the other component when one component is deleted")
			Expect(succeeded(writes(ctx, operatorName, namespace).Resource("configmaps"))).To(HaveLen(5))
			owned := map[string]int{}
			for i := range 5 {
				owned[mustGet(ctx, "v1", "ConfigMap", namespace, fmt.Sprintf("shared-%d", i)).GetLabels()[operatorName+
					"/owner-id"]]++
			}
			remove(ctx, gadgets[0])
			expectNotFound(ctx, gadgets[0])
			expectReady(ctx, gadgets[1])
		})
	})

	It("an object is adopted by a waiting component as soon as its owner orphans it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		one := newGadget(ctx, namespace, "one", configMap("shared", "a", deletePolicy("orphan")))
		expectReady(ctx, one)
		released := mustGet(ctx, "v1", "ConfigMap", namespace, "shared")
		two := newGadget(ctx, namespace, "two", configMap("shared", "b"), retryLate)
		expectCondition(ctx, two, metav1alpha1.ConditionStalled, HavePrefix("True OwnershipConflict"))
		remove(ctx, one)
		expectReady(ctx, two)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "shared").GetUID()).To(Equal(released.GetUID()))
	})

	It("an object is created by a waiting component as soon as its owner prunes it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		one := newGadget(ctx, namespace, "one", together(configMap("shared", "a"), configMap("kept", "a")))
		expectReady(ctx, one)
		two := newGadget(ctx, namespace, "two", configMap("shared", "b"), retryLate)
		expectCondition(ctx, two, metav1alpha1.ConditionStalled, HavePrefix("True OwnershipConflict"))
		changeManifests(ctx, one, configMap("kept", "a"))
		expectReady(ctx, two)
		expectReady(ctx, one)
	})

	It("a deleted object stays reserved for its owner while the owner is suspended", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		owner, other := newGadget(ctx, namespace, "owner", configMap("shared", "a")), newGadget(ctx, namespace, "other",
			configMap("clock", "a"))
		expectReady(ctx, owner)
		expectReady(ctx, other)
		rival, watcher := newGadget(ctx, namespace, "rival", configMap("shared", "b"), retryLate), newGadget(ctx, namespace,
			"watcher", configMap("clock", "b"), retryLate)
		for _, g := range []*gadget.Gadget{rival, watcher} {
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, HavePrefix("True OwnershipConflict"))
		}
		change(ctx, owner, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, owner, metav1alpha1.ConditionReady, "Unknown Suspended")
		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "shared"))
		By("waiting until another component has adopted an object that its previous owner released")
		remove(ctx, other)
		expectReady(ctx, watcher)
		By("reconciling the waiting component while the object does not exist")
		changeManifests(ctx, rival, configMap("shared", "c"))
		expectCondition(ctx, rival, metav1alpha1.ConditionStalled, And(HavePrefix("True OwnershipConflict"),
			ContainSubstring("it does not exist now, but")))
		change(ctx, owner, func(g *gadget.Gadget) { g.Spec.Suspend = false })
		expectReady(ctx, owner)
		expectCondition(ctx, rival, metav1alpha1.ConditionStalled, HavePrefix("True OwnershipConflict"))
	})

	It("an object of another operator is an ownership conflict, also if the components of both operators have "+
		"the same name", func(ctx SpecContext) {
		one, two, target := newNamespace(ctx), newNamespace(ctx), newNamespace(ctx)
		operator := newOperatorName()
		runOperator(operator, operatorOptions{})
		inTarget := func(g *gadget.Gadget) { g.Spec.TargetNamespace = target }
		first := newGadget(ctx, one, "app", together(configMap("shared", "first"), configMap("first", "a")), inTarget)
		expectReady(ctx, first)
		second := newGadget(ctx, two, "app", together(configMap("shared", "second"), configMap("second", "a")), inTarget,
			servedBy(operator))
		expectCondition(ctx, second, metav1alpha1.ConditionStalled, And(HavePrefix("True OwnershipConflict"),
			ContainSubstring(target+"/shared"), ContainSubstring(operatorName)))
		remove(ctx, second)
		expectNotFound(ctx, second)
		Expect(mustGet(ctx, "v1", "ConfigMap", target, "shared").Object["data"]).To(HaveKeyWithValue("value", "first"))
		expectReady(ctx, first)
		Expect(succeeded(writes(ctx, operatorName, target))).To(HaveLen(2))
	})

	It("if another owner takes over a dependent, the component reports an ownership conflict", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"))
		expectReady(ctx, g)
		patchAs(ctx, operatorName, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), fmt.Sprintf(
			`{"metadata":{"labels":{"%s/owner-id":"6d072c20183f164c974cae4d07a2c3538fdf420c"},"annotations":{"%s/owner-id":"somebody else"}}}`, operatorName, operatorName))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True OwnershipConflict"),
			ContainSubstring("somebody else")))
	})

	It("an object without an owner that is being deleted is waited for, and then created", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		existing(ctx, namespace, "finalizers: [example.com/hold]")
		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"))
		g := newGadget(ctx, namespace, "app", configMap("settings", "ours"))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, ContainSubstring("deleted"))
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), `{"metadata":{"finalizers":null}}`)
		expectReady(ctx, g)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"]).To(HaveKeyWithValue("value", "ours"))
	})

	It("if two operators adopt the same object at once, the object has a single owner", func(ctx SpecContext) {
		operators := []string{newOperatorName(), newOperatorName()}
		for _, operator := range operators {
			runOperator(operator, operatorOptions{})
		}
		target := newNamespace(ctx)
		const count = 20
		for i := range count {
			create(ctx, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm-%d, namespace: %s}", i, target))
		}
		for _, operator := range operators {
			g := newGadget(ctx, newNamespace(ctx), "app", configMaps("cm", count, "a"),
				servedBy(operator), func(g *gadget.Gadget) { g.Spec.TargetNamespace = target })
			defer expectCondition(ctx, g, metav1alpha1.ConditionReady,
				Or(HavePrefix("True Ready"), HavePrefix("False OwnershipConflict")))
		}
		Eventually(ctx, func(g Gomega) {
			for i := range count {
				labels := mustGet(ctx, "v1", "ConfigMap", target, fmt.Sprintf("cm-%d", i)).GetLabels()
				g.Expect(labels).To(Or(HaveKey(operators[0]+"/owner-id"), HaveKey(operators[1]+"/owner-id")))
			}
		}).Should(Succeed())
		for i := range count {
			Expect(mustGet(ctx, "v1", "ConfigMap", target, fmt.Sprintf("cm-%d", i)).GetLabels()).To(HaveLen(1),
				"want only one label on each ConfigMap, the owner label")
		}
	})
})
