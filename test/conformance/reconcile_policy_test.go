package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// settingOf returns an annotation with a setting of the given operator.
func settingOf(operator, name, value string) string {
	return fmt.Sprintf("%s/%s: %q", operator, name, value)
}

// entryOf returns the inventory entry of the dependent with the given name.
func entryOf(ctx context.Context, g *gadget.Gadget, name string) metav1alpha1.InventoryEntry {
	GinkgoHelper()
	entries, err := metav1alpha1.ParseInventory(current(ctx, g).Status.Inventory)
	Expect(err).NotTo(HaveOccurred())
	for _, e := range entries {
		if e.Name == name {
			return e
		}
	}
	return metav1alpha1.InventoryEntry{}
}

// removeReconcilePolicy removes the setting from manifests.
func removeReconcilePolicy(text, operator string) string {
	return strings.ReplaceAll(text, ", "+settingOf(operator, "reconcile-policy", "on-object-or-component-change"), "")
}

var _ = Describe("Reconcile policies:", func() {
	const follows = "on-object-or-component-change"
	value := func(ctx context.Context, namespace, name string) string {
		GinkgoHelper()
		found, _, err := unstructured.NestedString(mustGet(ctx, "v1", "ConfigMap", namespace, name).Object, "data", "value")
		Expect(err).NotTo(HaveOccurred())
		return found
	}
	// settled runs an operator with one gadget, and waits until the operator makes no more passes.
	settled := func(ctx context.Context, manifests func(operator string) string,
		options component.Options,
	) (operator string, g *gadget.Gadget) {
		GinkgoHelper()
		operator = newOperatorName()
		runOperator(operator, operatorOptions{component: options})
		g = newGadget(ctx, newNamespace(ctx), "app", manifests(operator), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		return operator, g
	}
	// touch changes the component without changing its rendered objects.
	touch := func(ctx context.Context, g *gadget.Gadget, operator string) {
		GinkgoHelper()
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.RetryInterval = seconds(int(sequence.Add(1))) })
		expectReady(ctx, g)
		settle(ctx, operator)
	}

	forEachPolicy(func(policy string) {
		two := func(operator, reconcile string) string {
			update := settingOf(operator, "update-policy", policy)
			return together(configMap("follows", "a", update, settingOf(operator, "reconcile-policy", reconcile)),
				configMap("plain", "a", update))
		}

		It("a dependent with the policy on-object-or-component-change is applied once whenever the "+
			"component changes", func(ctx SpecContext) {
			operator, g := settled(ctx, func(operator string) string { return two(operator, follows) }, component.Options{})
			before := mustGet(ctx, "v1", "ConfigMap", g.Namespace, "follows").GetResourceVersion()
			settleAlone(ctx, operator)
			for range 2 {
				mark, passed := markAudit(ctx), passes(operator)
				touch(ctx, g, operator)
				requests := inNamespace(requestsSince(ctx, mark, operator), g.Namespace)
				Expect(requests.Resource("configmaps").Writes()).To(And(HaveLen(1), HaveEach(HaveField("Name", "follows"))), "%v",
					verbs(requests))
				Expect(requests.Resource("gadgets").Writes()).To(HaveLen(1), "%v", verbs(requests))
				Expect(passes(operator)-passed).To(Equal(1), "want one pass: a write without a change must not start another pass")
			}
			Expect(mustGet(ctx, "v1", "ConfigMap", g.Namespace, "follows").GetResourceVersion()).To(Equal(before))
			Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))
			mark := markAudit(ctx)
			requestPass(ctx, g, operator)
			Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty(),
				"the operator sent requests, although the component did not change")
		})

		It("a change of the reconcile policy costs one write of metadata, and a change to the policy once "+
			"costs no write", func(ctx SpecContext) {
			operator, g := settled(ctx, func(operator string) string { return two(operator, "on-object-change") },
				component.Options{})
			for _, step := range []struct {
				policy string
				writes int
			}{{follows, 1}, {"once", 0}, {"on-object-change", 1}} {
				before, mark := mustGet(ctx, "v1", "ConfigMap", g.Namespace, "follows"), markAudit(ctx)
				changeManifests(ctx, g, two(operator, step.policy))
				expectReady(ctx, g)
				settle(ctx, operator)
				requests := inNamespace(requestsSince(ctx, mark, operator), g.Namespace).Resource("configmaps")
				Expect(requests.Writes()).To(HaveLen(step.writes), "the wrong number of writes under the reconcile policy %s: %v",
					step.policy, verbs(requests))
				after := mustGet(ctx, "v1", "ConfigMap", g.Namespace, "follows")
				Expect(after.Object["data"]).To(Equal(before.Object["data"]))
				Expect(after.GetUID()).To(Equal(before.GetUID()))
			}
			Expect(mustGet(ctx, "v1", "ConfigMap", g.Namespace, "follows").GetAnnotations()).
				To(HaveKeyWithValue(operator+"/reconcile-policy", "on-object-change"))
		})

		It("a reconcile policy that the manifest drops is removed from the object by one "+
			"write of metadata", func(ctx SpecContext) {
			operator, g := settled(ctx, func(operator string) string { return two(operator, follows) }, component.Options{})
			patch(ctx, mustGet(ctx, "v1", "ConfigMap", g.Namespace, "follows"), `{"metadata":{"annotations":{"theirs":"x"}}}`)
			settle(ctx, operator)
			mark := markAudit(ctx)
			changeManifests(ctx, g, removeReconcilePolicy(two(operator, follows), operator))
			expectReady(ctx, g)
			settle(ctx, operator)
			after := mustGet(ctx, "v1", "ConfigMap", g.Namespace, "follows")
			Expect(after.GetAnnotations()).To(And(Not(HaveKey(operator+"/reconcile-policy")), HaveKeyWithValue("theirs", "x")))
			Expect(after.Object["data"]).To(Equal(map[string]any{"value": "a"}))
			Expect(inNamespace(requestsSince(ctx, mark, operator), g.Namespace).Resource("configmaps").Writes()).To(HaveLen(1))
			Expect(entryOf(ctx, g, "follows").Trigger).To(BeEmpty())
		})

		It("a dependent with the policy once is applied once, and is neither updated, repaired nor "+
			"created again", func(ctx SpecContext) {
			manifests := func(operator, value string) string {
				return together(
					configMap("once", value, settingOf(operator, "reconcile-policy", "once"),
						settingOf(operator, "update-policy", policy)),
					configMap("plain", value, settingOf(operator, "update-policy", policy)))
			}
			operator, g := settled(ctx, func(operator string) string { return manifests(operator, "a") }, component.Options{})
			mark := markAudit(ctx)
			patch(ctx, mustGet(ctx, "v1", "ConfigMap", g.Namespace, "once"),
				`{"data":{"value":"theirs"},"metadata":{"labels":{"team":null}}}`)
			changeManifests(ctx, g, manifests(operator, "b"))
			expectReady(ctx, g)
			Expect(value(ctx, g.Namespace, "once")).To(Equal("theirs"))
			Expect(value(ctx, g.Namespace, "plain")).To(Equal("b"))
			remove(ctx, mustGet(ctx, "v1", "ConfigMap", g.Namespace, "once"))
			changeManifests(ctx, g, manifests(operator, "c"))
			expectReady(ctx, g)
			settle(ctx, operator)
			requests := inNamespace(requestsSince(ctx, mark, operator), g.Namespace).Resource("configmaps")
			Expect(requests.Where(named("once"))).To(BeEmpty(), "%v", verbs(requests))
			Expect(requests.Where(named("plain")).Writes()).To(HaveLen(2), "%v", verbs(requests))
			Expect(current(ctx, g).Status.Dependents.Summary).To(Equal("2/2"))
		})
	})

	forEachPolicy(func(policy string) {
		one := func(operator, reconcile, value string) string {
			return configMap("one", value, settingOf(operator, "update-policy", policy),
				settingOf(operator, "reconcile-policy", reconcile))
		}

		It("a dependent with the policy create-only is created again, and neither updated "+
			"nor repaired", func(ctx SpecContext) {
			operator, g := settled(ctx, func(operator string) string { return one(operator, "create-only", "a") },
				component.Options{})
			mark := markAudit(ctx)
			patch(ctx, mustGet(ctx, "v1", "ConfigMap", g.Namespace, "one"),
				`{"data":{"value":"theirs"},"metadata":{"labels":{"team":null}}}`)
			changeManifests(ctx, g, one(operator, "create-only", "b"))
			expectReady(ctx, g)
			settle(ctx, operator)
			Expect(value(ctx, g.Namespace, "one")).To(Equal("theirs"))
			Expect(inNamespace(requestsSince(ctx, mark, operator), g.Namespace).Resource("configmaps")).To(BeEmpty())
			remove(ctx, mustGet(ctx, "v1", "ConfigMap", g.Namespace, "one"))
			Eventually(ctx, func() bool { return configMapExists(ctx, g.Namespace, "one") }).Should(BeTrue())
			Expect(value(ctx, g.Namespace, "one")).To(Equal("b"))
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(configMapExists(ctx, g.Namespace, "one")).To(BeFalse())
		})

		It("a dependent with the policy update-only is updated as soon as somebody creates it, and "+
			"kept at the end", func(ctx SpecContext) {
			namespace, operator := newNamespace(ctx), newOperatorName()
			runOperator(operator, operatorOptions{})
			g := newGadget(ctx, namespace, "app", together(one(operator, "update-only", "a"),
				configMap("later", "x", settingOf(operator, "order", "1"))), servedBy(operator))
			expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
				ContainSubstring("update-only does not create it")))
			settle(ctx, operator)
			Expect(configMapExists(ctx, namespace, "later")).To(BeFalse(), "the next wave must wait")
			theirs := create(ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: "+namespace+
				"}\ndata: {theirs: x}")[0]
			expectReady(ctx, g)
			Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "one").Object["data"]).
				To(Equal(map[string]any{"theirs": "x", "value": "a"}))
			patch(ctx, theirs, `{"data":{"value":"b"}}`)
			Eventually(ctx, func() string { return value(ctx, namespace, "one") }).Should(Equal("a"), "drift is repaired")
			remove(ctx, theirs)
			expectCondition(ctx, g, metav1alpha1.ConditionReady, ContainSubstring("update-only does not create it"))
			settle(ctx, operator)
			Expect(configMapExists(ctx, namespace, "one")).To(BeFalse())
			create(ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: "+namespace+"}\ndata: {theirs: x}")
			expectReady(ctx, g)
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(configMapExists(ctx, namespace, "one")).To(BeTrue(),
				"the component did not create the object, so it does not delete it")
		})

		It("a dependent with the policy always is applied once in each pass, and starts no pass", func(ctx SpecContext) {
			operator, g := settled(ctx, func(operator string) string { return one(operator, "always", "a") },
				component.Options{})
			before := mustGet(ctx, "v1", "ConfigMap", g.Namespace, "one").GetResourceVersion()
			settleAlone(ctx, operator)
			for range 2 {
				mark, passed := markAudit(ctx), passes(operator)
				requestPass(ctx, g, operator)
				settle(ctx, operator)
				Expect(inNamespace(requestsSince(ctx, mark, operator), g.Namespace).Resource("configmaps").Writes()).To(HaveLen(1))
				Expect(passes(operator)-passed).To(Equal(1), "want one pass: a write without a change must not start another pass")
			}
			Expect(mustGet(ctx, "v1", "ConfigMap", g.Namespace, "one").GetResourceVersion()).To(Equal(before))
		})
	})

	It("a dependent with the policy update-only is kept at the end although the "+
		"inventory was lost", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		create(ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: "+namespace+"}")
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app",
			together(configMap("theirs", "a", settingOf(operator, "reconcile-policy", "update-only")), configMap("ours", "a")),
			servedBy(operator))
		expectReady(ctx, g)
		stop()
		loseStatus(ctx, g)
		remove(ctx, g)
		runOperator(operator, operatorOptions{})
		expectNotFound(ctx, g)
		Expect(configMapExists(ctx, namespace, "theirs")).To(BeTrue())
		Expect(configMapExists(ctx, namespace, "ours")).To(BeFalse())
	})

	It("a dependent with the policy on-object-or-component-change is applied again when a "+
		"reference changes", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		values := create(ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, namespace: "+namespace+
			"}\ndata: {a: b}")[0]
		g := newGadget(ctx, namespace, "app",
			together(configMap("follows", "a", settingOf(operator, "reconcile-policy", follows)), configMap("plain", "a")),
			servedBy(operator), func(g *gadget.Gadget) {
				g.Spec.References = []metav1alpha1.Reference{{Kind: metav1alpha1.ConfigMapReference, Name: "values"}}
			})
		expectReady(ctx, g)
		settle(ctx, operator)
		mark := markAudit(ctx)
		patch(ctx, values, `{"data":{"a":"c"}}`)
		Eventually(ctx, func() int64 { return current(ctx, g).Status.Revision }).Should(Equal(int64(2)))
		settle(ctx, operator)
		written := inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps").Writes()
		Expect(written).To(And(HaveLen(1), HaveEach(HaveField("Name", "follows"))), "%v", verbs(written))
	})

	It("the reconcile policy can be set in the reconciler's defaults", func(ctx SpecContext) {
		manifests := func(operator, value string) string {
			return together(configMap("once", value),
				configMap("plain", value, settingOf(operator, "reconcile-policy", "on-object-change")))
		}
		operator, g := settled(ctx, func(operator string) string { return manifests(operator, "a") },
			component.Options{
				Dependents: component.Dependents{
					Policies: metav1alpha1.Policies{Reconcile: metav1alpha1.ReconcileOnce},
				},
			})
		changeManifests(ctx, g, manifests(operator, "b"))
		expectReady(ctx, g)
		Expect(value(ctx, g.Namespace, "once")).To(Equal("a"))
		Expect(value(ctx, g.Namespace, "plain")).To(Equal("b"))
	})

	It("a dependent with the policy once is pruned and deleted", func(ctx SpecContext) {
		namespace, once := newNamespace(ctx), setting("reconcile-policy", "once")
		g := newGadget(ctx, namespace, "app", together(configMap("pruned", "a", once), configMap("deleted", "a", once)))
		expectReady(ctx, g)
		changeManifests(ctx, g, configMap("deleted", "b", once))
		expectReady(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(Equal(1))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("a dependent with the policy once is not written a second time if the operator crashed before it recorded "+
		"the first write", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		text := configMap("once", "a", settingOf(operator, "reconcile-policy", "once"))
		g := newGadget(ctx, namespace, "app", text, servedBy(operator))
		c := &crash{counts: writesTo(namespace, "configmaps"), after: 1, unanswered: true}
		stop := runOperator(operator, operatorOptions{transport: c.wrap})
		Eventually(ctx, c.crashed.Load).Should(BeTrue())
		stop()
		changeManifests(ctx, g, strings.Replace(text, `"a"`, `"b"`, 1))
		runOperator(operator, operatorOptions{})
		expectReady(ctx, g)
		Expect(value(ctx, namespace, "once")).To(Equal("a"))
		Expect(writes(ctx, operator, namespace).Resource("configmaps")).To(HaveLen(1))
	})

	It("a change of settings alone does not recreate a dependent", func(ctx SpecContext) {
		manifests := func(operator string, settings ...string) string {
			return configMap("settings", "a", append(settings, settingOf(operator, "update-policy", "recreate"))...)
		}
		operator, g := settled(ctx, func(operator string) string { return manifests(operator) }, component.Options{})
		before, mark := mustGet(ctx, "v1", "ConfigMap", g.Namespace, "settings"), markAudit(ctx)
		changeManifests(ctx, g, manifests(operator, settingOf(operator, "reconcile-policy", follows),
			settingOf(operator, "delete-order", "3")))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(mustGet(ctx, "v1", "ConfigMap", g.Namespace, "settings").GetUID()).To(Equal(before.GetUID()))
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), g.Namespace).Resource("configmaps"))).
			To(Equal([]string{"patch configmaps 200"}))
		Expect(entryOf(ctx, g, "settings").DeleteOrder).To(HaveValue(Equal(3)))
	})
})
