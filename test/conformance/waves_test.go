package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// applyOrder returns the setting of the alias apply-order.
func applyOrder(wave int) string { return setting("apply-order", fmt.Sprint(wave)) }

var _ = Describe("Waves:", func() {
	exists := func(ctx context.Context, apiVersion, kind, namespace, name string) bool {
		_, err := get(ctx, apiVersion, kind, namespace, name)
		return err == nil
	}
	release := func(ctx context.Context, g *gadget.Gadget) {
		GinkgoHelper()
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Manifests = removeLine(g.Spec.Manifests, "nodeSelector") })
	}

	It("a later wave does not wait until a claim is bound, and the component is not Ready before the "+
		"claim is bound", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		claim := "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n" +
			"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"
		g := newGadget(ctx, namespace, "app", together(claim, configMap("later", "a", order(1))))
		Eventually(ctx, func() int { return countConfigMaps(ctx, namespace) }).Should(Equal(1))
		settle(ctx, operatorName)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("PersistentVolumeClaim "+namespace+"/data")))
	})

	forEachPolicy(func(policy string) {
		It("a wave starts when the previous wave is ready, and the status names the dependents that "+
			"it waits for", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			g := newGadget(ctx, namespace, "app", together(
				configMap("third", "a", applyOrder(7), updatePolicy(policy)),
				heldDeployment("web", updatePolicy(policy)),
				configMap("first", "a", order(-1), updatePolicy(policy)),
			))
			expectCondition(ctx, g, metav1alpha1.ConditionReconciling, And(
				HavePrefix("True DependentsNotReady"), ContainSubstring("Deployment.apps "+namespace+"/web"),
				ContainSubstring("vailable: 0/1")))
			status := current(ctx, g).Status
			Expect(status.Waiting).To(HaveLen(1))
			Expect(status.Waiting[0]).To(And(HaveField("Reason", "InProgress"), HaveField("Wave", int32(0))))
			Expect(status.Dependents.Summary).To(Equal("1/3"))
			Expect(status.Inventory).To(HaveLen(3), "all dependents must be recorded in the inventory")
			Expect(exists(ctx, "v1", "ConfigMap", namespace, "first")).To(BeTrue())
			Expect(exists(ctx, "v1", "ConfigMap", namespace, "third")).To(BeFalse())

			release(ctx, g)
			expectReady(ctx, g)
			Expect(exists(ctx, "v1", "ConfigMap", namespace, "third")).To(BeTrue())
		})

		It("a changed dependent of a later wave is not applied before the earlier wave "+
			"is ready again", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			manifests := func(deployment func(string, ...string) string, value string) string {
				return together(deployment("web", updatePolicy(policy)), configMap("later", value, order(1), updatePolicy(policy)))
			}
			g := newGadget(ctx, namespace, "app", manifests(deployment, "a"))
			expectReady(ctx, g)
			changeManifests(ctx, g, manifests(heldDeployment, "b"))
			expectCondition(ctx, g, metav1alpha1.ConditionReady, "False DependentsNotReady")
			Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "later").Object["data"]).To(HaveKeyWithValue("value", "a"))
			release(ctx, g)
			expectReady(ctx, g)
			Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "later").Object["data"]).To(HaveKeyWithValue("value", "b"))
		})
	})

	It("waves that are ready at once follow one another in the same pass", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		wave := func(n int) string { return fmt.Sprintf("%s/order: %q", operator, fmt.Sprint(n)) }
		g := newGadget(ctx, namespace, "app", together(
			configMaps("a", 2, "x", wave(0)), configMaps("b", 2, "x", wave(1)), configMaps("c", 2, "x", wave(2)),
			configMaps("d", 2, "x", wave(3)),
		), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(verbs(writes(ctx, operator, namespace).Resource("gadgets"))).To(Equal(
			[]string{"patch gadgets 200", "update gadgets/status 200", "update gadgets/status 200"}),
			"the writes of the finalizer, the record and the result")
		var names []string
		for _, e := range writes(ctx, operator, namespace).Resource("configmaps") {
			names = append(names, e.Name[:1])
		}
		Expect(strings.Join(names, "")).To(Equal("aabbccdd"))
	})

	It("the stages of a wave apply a namespace before the objects in it, and a definition before "+
		"its instances", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		inside := namespace + "-inside"
		g := newGadget(ctx, namespace, "app", together(
			strings.Replace(widget(group, "one"), "{name:", "{namespace: "+inside+", name:", 1),
			strings.Replace(configMap("settings", "a"), "  name:", "  namespace: "+inside+"\n  name:", 1),
			namespaceManifest(inside), widgetDefinition(group),
		))
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.Dependents.Summary).To(Equal("4/4"))
		failed := inNamespace(requestsSince(ctx, 0, operatorName), inside).Writes().Where(succeededNot)
		Expect(verbs(failed)).To(BeEmpty())
	})

	DescribeTable("invalid waves are refused with all mistakes before the first write:", func(ctx SpecContext,
		text func(group string) string, names ...string,
	) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(configMap("innocent", "a"), text(newGroup())))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "True ")
		for _, name := range names {
			Expect(condition(current(ctx, g), metav1alpha1.ConditionStalled)).To(ContainSubstring(name))
		}
		Expect(current(ctx, g).Status.Inventory).To(BeEmpty())
		Expect(verbs(writes(ctx, operatorName, namespace).Resource("configmaps", "widgets"))).To(BeEmpty())
		changeManifests(ctx, g, configMap("innocent", "a"))
		expectReady(ctx, g)
	},
		Entry("an instance in an earlier wave than its definition", func(group string) string {
			return together(widgetDefinition(group, order(1)), widget(group, "early"))
		}, "InvalidManifests", "early", "order 0 is before order 1"),
		Entry("settings with invalid values", func(string) string {
			return together(configMap("one", "a", setting("order", "soon")),
				configMap("two", "a", setting("update-policy", "always")), configMap("three", "a", setting("colour", "red")))
		}, "InvalidManifests", "one", "soon", "two", "always", "three", "colour"),
		Entry("two manifests of the same object", func(string) string {
			return together(configMap("one", "a"), configMap("one", "b"), configMap("two", "a"), configMap("two", "a"))
		}, "InvalidManifests", "/one: rendered more than once", "/two: rendered more than once"),
		Entry("manifests that cannot be decoded", func(string) string {
			return together("kind: ConfigMap\nmetadata: {name: one}",
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: two}")
		}, "GenerateFailed", "no apiVersion", "generateName"),
	)

	It("a dependent that the API server refuses blocks the later waves, but not the other dependents of "+
		"the same wave", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		bad := "apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 0}]}"
		g := newGadget(ctx, namespace, "app", together(bad, deployment("sibling"), configMap("later", "a", order(1))))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True DependentFailed"), ContainSubstring("Service "+namespace+"/bad"),
				ContainSubstring("spec.ports[0].port")))
		Eventually(func() bool { return exists(ctx, "apps/v1", "Deployment", namespace, "sibling") }).Should(BeTrue())
		Expect(exists(ctx, "v1", "ConfigMap", namespace, "later")).To(BeFalse())
	})
})
