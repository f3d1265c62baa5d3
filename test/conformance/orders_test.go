package conformance_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// withSettings adds settings to a manifest that has no annotations.
func withSettings(text string, settings ...string) string {
	return strings.Replace(text, "metadata: {name:", "metadata: {annotations: {"+strings.Join(settings, ", ")+"}, name:",
		1)
}

// deletionsOf returns the objects that an operator deleted since a position in the audit log, in order, as
// resource/name. It includes the objects in the namespace, and objects whose names contain the name of the namespace or
// end in the name of the group.
func deletionsOf(ctx context.Context, mark auditMark, namespace, group string) []string {
	GinkgoHelper()
	var names []string
	for _, e := range succeeded(requestsSince(ctx, mark, operatorName).Verb("delete")) {
		if e.Namespace == namespace || strings.Contains(e.Name, namespace) || group != "" &&
			strings.HasSuffix(e.Name, group) {
			names = append(names, e.Resource+"/"+e.Name)
		}
	}
	// The deletion of a definition follows a dry run of the same request.
	return slices.Compact(names)
}

// hold adds a finalizer of another owner to an object.
func hold(ctx context.Context, o client.Object) {
	GinkgoHelper()
	patch(ctx, o, `{"metadata":{"finalizers":["example.com/hold"]}}`)
}

// letGo removes all finalizers of an object.
func letGo(ctx context.Context, o client.Object) {
	GinkgoHelper()
	patch(ctx, o, `{"metadata":{"finalizers":null}}`)
}

// podOf returns the pod of a Deployment.
func podOf(ctx context.Context, namespace, deployment string) *corev1.Pod {
	GinkgoHelper()
	pods := &corev1.PodList{}
	Expect(k8s.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels{"app": deployment})).To(Succeed())
	Expect(pods.Items).To(HaveLen(1))
	return &pods.Items[0]
}

var _ = Describe("Orders that contradict each other:", func() {
	It("contradicting orders are refused together, each with both objects and both settings, and "+
		"nothing is written", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		inside := namespace + "-inside"
		mark := markAudit(ctx)
		g := newGadget(ctx, namespace, "app", together(
			configMap("innocent", "a"),
			widgetDefinition(group, order(2)), withSettings(widget(group, "early"), deleteOrder(9)),
			deployment("controller", deleteOrder(-4)),
			withSettings(namespaceManifest(inside), order(1), setting("purge-order", "2")),
			strings.Replace(configMap("homeless", "a"), "  name:", "  namespace: "+inside+"\n  name:", 1),
		))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, HavePrefix("True InvalidManifests"))
		for _, contradiction := range []string{
			"Widget." + group + " " + namespace +
				"/early: its order 0 is before order 2 of CustomResourceDefinition.apiextensions.k8s.io widgets." + group,
			"Widget." + group + " " + namespace +
				"/early: its delete-order 9 is after delete-order -2 (the reverse of its order) of CustomResourceDefinition",
			"Widget." + group + " " + namespace + "/early: its delete-order 9 is after delete-order -4 of Deployment.apps " +
				namespace + "/controller",
			"ConfigMap " + inside + "/homeless: its order 0 is before order 1 of Namespace " + inside,
			"Namespace " + inside + ": its purge-order 2",
		} {
			Expect(condition(current(ctx, g), metav1alpha1.ConditionStalled)).To(ContainSubstring(contradiction))
		}
		settle(ctx, operatorName)
		written := requestsSince(ctx, mark, operatorName).Writes().Where(func(e testcluster.Event) bool {
			return e.Namespace == namespace && e.Resource != "gadgets" || strings.Contains(e.Name, inside) ||
				strings.HasSuffix(e.Name, group)
		})
		Expect(verbs(written)).To(BeEmpty())
		Expect(current(ctx, g).Status.Inventory).To(BeEmpty())
	})

	It("contradicting orders are refused at an upgrade, and the applied dependents do not change", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		g := newGadget(ctx, namespace, "app", together(widgetDefinition(group), widget(group, "one"),
			configMap("settings", "a")))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		changeManifests(ctx, g, together(widgetDefinition(group, order(1)), widget(group, "one"), configMap("settings", "b")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring("its order 0 is before order 1"))
		settle(ctx, operatorName)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operatorName), namespace).Writes().Resource("configmaps",
			"widgets"))).To(BeEmpty())
		changeManifests(ctx, g, together(widgetDefinition(group), widget(group, "one"), configMap("settings", "b")))
		expectReady(ctx, g)
	})
})

var _ = Describe("The order of a deletion:", func() {
	It("a deletion runs in the order instances, webhooks, workloads, configuration, definitions, roles, namespaces, and "+
		"each stage ends before the next starts", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		inside := namespace + "-inside"
		service := "apiVersion: v1\nkind: Service\nmetadata: {name: server}\n" +
			"spec: {ports: [{port: 443}], selector: {app: controller}}"
		webhook := fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %[1]s}
webhooks:
  - name: hook.%[2]s
    sideEffects: None
    admissionReviewVersions: [v1]
    failurePolicy: Ignore
    clientConfig: {service: {namespace: %[1]s, name: server}}
    rules: [{apiGroups: [%[2]s], apiVersions: [v1], operations: [CREATE], resources: [nothing]}]`, namespace, group)
		role := fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: %s}\nrules: []",
			namespace)
		g := newGadget(ctx, namespace, "app", together(
			namespaceManifest(inside), widgetDefinition(group), role, configMap("settings", "a"), deployment("controller"),
			service, webhook, widget(group, "one")))
		expectReady(ctx, g)
		instance, pod := mustGet(ctx, group+"/v1", "Widget", namespace, "one"), podOf(ctx, namespace, "controller")
		hold(ctx, instance)
		hold(ctx, pod)
		mark := markAudit(ctx)
		deletions := func() []string { return deletionsOf(ctx, mark, namespace, group) }

		By("waiting for the instance")
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling, And(HavePrefix("True Deleting"), ContainSubstring("/one")))
		Expect(deletions()).To(Equal([]string{"widgets/one"}))

		By("waiting for the pod of the workload")
		letGo(ctx, instance)
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling,
			And(HavePrefix("True Deleting"), ContainSubstring("/controller")))
		settle(ctx, operatorName)
		Expect(deletions()[:2]).To(Equal([]string{"widgets/one", "validatingwebhookconfigurations/" + namespace}))
		Expect(deletions()[2:]).To(ConsistOf("deployments/controller", "services/server"))

		By("deleting the other stages")
		letGo(ctx, pod)
		expectNotFound(ctx, g)
		Expect(deletions()[4:]).To(Equal([]string{
			"configmaps/settings", "customresourcedefinitions/widgets." + group,
			"clusterroles/" + namespace, "namespaces/" + inside,
		}))
	})

	It("a deletion runs in the reverse of the apply order, unless a delete order is set", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(
			configMap("a", "x", order(-1)), configMap("b", "x", order(2), deleteOrder(7)), configMap("c", "x", order(3)),
			configMap("d", "x", order(-32768)), configMap("e", "x", order(32767))))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(deletionsOf(ctx, mark, namespace, "")).
			To(Equal([]string{"configmaps/e", "configmaps/c", "configmaps/a", "configmaps/b", "configmaps/d"}))
	})
})

var _ = Describe("The order of pruning:", func() {
	It("pruning uses the order of a deletion, and each wave waits until the previous wave is deleted", func(
		ctx SpecContext,
	) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(
			configMap("stays", "a"), configMap("first", "a", order(2)), configMap("held", "a", order(1)),
			configMap("last", "a", deleteOrder(5)), deployment("web", deleteOrder(5))))
		expectReady(ctx, g)
		held := mustGet(ctx, "v1", "ConfigMap", namespace, "held")
		hold(ctx, held)
		mark := markAudit(ctx)
		changeManifests(ctx, g, configMap("stays", "a"))
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling, And(HavePrefix("True DependentsNotGone"),
			ContainSubstring("/held")))
		settle(ctx, operatorName)
		Expect(deletionsOf(ctx, mark, namespace, "")).To(Equal([]string{"configmaps/first", "configmaps/held"}))
		letGo(ctx, held)
		expectReady(ctx, g)
		Expect(deletionsOf(ctx, mark, namespace, "")).
			To(Equal([]string{"configmaps/first", "configmaps/held", "deployments/web", "configmaps/last"}))
	})

	It("pruning starts after the waves that replace the pruned objects", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("old", "a", order(-5)))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		changeManifests(ctx, g, together(configMap("new", "a"), heldDeployment("web", order(1))))
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling, ContainSubstring("/web"))
		Expect(deletionsOf(ctx, mark, namespace, "")).To(BeEmpty())
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Manifests = removeLine(g.Spec.Manifests, "nodeSelector") })
		expectReady(ctx, g)
		Expect(deletionsOf(ctx, mark, namespace, "")).To(Equal([]string{"configmaps/old"}))
		sequence := inNamespace(requestsSince(ctx, mark, operatorName), namespace).Writes().Resource("configmaps",
			"deployments")
		Expect(slices.IndexFunc(sequence, func(e testcluster.Event) bool { return e.Verb == "delete" })).
			To(Equal(len(sequence)-1), "%v", verbs(sequence))
	})

	It("pruning does not start if an apply failed", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("old", "a"))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		bad := "apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 0}]}"
		changeManifests(ctx, g, together(configMap("new", "a"), bad))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True DependentFailed"), ContainSubstring("/bad")))
		settle(ctx, operatorName)
		Expect(deletionsOf(ctx, mark, namespace, "")).To(BeEmpty())
		mustGet(ctx, "v1", "ConfigMap", namespace, "new")
		changeManifests(ctx, g, configMap("new", "a"))
		expectReady(ctx, g)
		Expect(deletionsOf(ctx, mark, namespace, "")).To(Equal([]string{"configmaps/old"}))
	})
})
