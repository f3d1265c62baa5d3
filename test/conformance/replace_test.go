package conformance_test

import (
	"encoding/base64"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("Fields of other managers through an upgrade:", func() {
	field := func(o *unstructured.Unstructured, path ...string) any {
		v, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
		return v
	}

	for _, policy := range inPlacePolicies {
		It("a CA bundle that another client injected is kept through an upgrade with the update policy "+
			policy, func(ctx SpecContext) {
			namespace, group := newNamespace(ctx), newGroup()
			bundle := base64.StdEncoding.EncodeToString(cluster.Config().CAData)
			Expect(bundle).NotTo(BeEmpty())
			webhook := func(timeout int) string {
				return fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %[1]s, annotations: {%[2]s}}
webhooks:
- name: hook.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  timeoutSeconds: %[3]d
  namespaceSelector: {matchLabels: {no: where}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  clientConfig: {service: {namespace: default, name: hook}}`, namespace, updatePolicy(policy), timeout)
			}
			definition := func(label string) string {
				return strings.Replace(widgetDefinition(group, updatePolicy(policy)), "  scope: Namespaced", `  scope: Namespaced
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: default, name: `+label+`}}}}`, 1)
			}
			g := newGadget(ctx, namespace, "app", together(webhook(1), definition("a")))
			expectReady(ctx, g)
			hook := func() *unstructured.Unstructured {
				return mustGet(ctx, "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", namespace)
			}
			first := func(o *unstructured.Unstructured, list string) *unstructured.Unstructured {
				GinkgoHelper()
				items, _ := field(o, list).([]any)
				Expect(items).NotTo(BeEmpty())
				item, _ := items[0].(map[string]any)
				return &unstructured.Unstructured{Object: item}
			}
			crd := func() *unstructured.Unstructured {
				return mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)
			}
			injected := hook()
			Expect(unstructured.SetNestedField(first(injected, "webhooks").Object, bundle, "clientConfig", "caBundle")).
				To(Succeed())
			Expect(k8s.Update(ctx, injected)).To(Succeed())
			patchAs(ctx, "injector", crd(), fmt.Sprintf(`{"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":%q}}}}}`,
				bundle))

			changeManifests(ctx, g, together(webhook(2), definition("b")))
			expectReady(ctx, g)
			Expect(field(first(hook(), "webhooks"), "timeoutSeconds")).To(BeEquivalentTo(2))
			Expect(field(first(hook(), "webhooks"), "clientConfig", "caBundle")).To(Equal(bundle))
			Expect(field(crd(), "spec", "conversion", "webhook", "clientConfig", "service", "name")).To(Equal("b"))
			Expect(field(crd(), "spec", "conversion", "webhook", "clientConfig", "caBundle")).To(Equal(bundle))
			remove(ctx, g)
			expectNotFound(ctx, g)
		})

		It("the status of a type without the subresource status is kept through an upgrade, except the fields in the "+
			"manifest, with the update policy "+policy, func(ctx SpecContext) {
			namespace, group := newNamespace(ctx), newGroup()
			definition := removeLine(widgetDefinition(group), "subresources: {status: {}}")
			instance := func(size int, phase string) string {
				return fmt.Sprintf("apiVersion: %s/v1\nkind: Widget\nmetadata: {name: one, annotations: {%s}}\nspec: {size: %d}\n"+
					"status: {%s}", group, updatePolicy(policy), size, phase)
			}
			one := func() *unstructured.Unstructured { return mustGet(ctx, group+"/v1", "Widget", namespace, "one") }
			g := newGadget(ctx, namespace, "app", together(definition, instance(1, "phase: New")))
			expectReady(ctx, g)
			Expect(one().Object["status"]).To(Equal(map[string]any{"phase": "New"}))
			patchAs(ctx, "its-controller", one(), `{"status":{"replicas":3}}`)

			changeManifests(ctx, g, together(definition, instance(2, "phase: Old")))
			expectReady(ctx, g)
			Expect(one().Object["status"]).To(Equal(map[string]any{"phase": "Old", "replicas": int64(3)}))

			By("creating an instance in a component that does not define the type")
			other := newGadget(ctx, namespace, "other", strings.Replace(instance(1, "phase: New"), "name: one", "name: two", 1))
			expectReady(ctx, other)
			Expect(mustGet(ctx, group+"/v1", "Widget", namespace, "two").Object["status"]).
				To(Equal(map[string]any{"phase": "New"}))
			remove(ctx, other)
			expectNotFound(ctx, other)
			remove(ctx, g)
			expectNotFound(ctx, g)
		})
	}
})

var _ = Describe("Changes of the update policy:", func() {
	for _, from := range updatePolicies {
		for _, to := range updatePolicies {
			if from == to {
				continue
			}
			It("a change of the update policy from "+from+" to "+to+
				" leaves a single entry of the operator in the managed fields, and later removes fields that the "+
				"manifest drops", func(ctx SpecContext) {
				namespace := newNamespace(ctx)
				const data = "a: x, dropped: x"
				g := newGadget(ctx, namespace, "app", settingsMap(data, updatePolicy(from)))
				expectReady(ctx, g)
				before := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
				Expect(managers(before)).To(ConsistOf(ownEntry(from)))
				mark := markAudit(ctx)

				changeManifests(ctx, g, settingsMap(data, updatePolicy(to)))
				expectReady(ctx, g)
				after := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
				Expect(managers(after)).To(ConsistOf(ownEntry(to)))
				Expect(after.GetUID()).To(Equal(before.GetUID()), "a change of the policy must not recreate the object")
				written := succeeded(inNamespace(requestsSince(ctx, mark, operatorName), namespace).Resource("configmaps").
					Writes()).
					Where(func(e testcluster.Event) bool { return !strings.Contains(e.RequestURI, "dryRun") })
				budget := 1
				if from == "replace" {
					budget = 2 // Before the first apply, one write lists the operator's fields in the managed fields.
				}
				Expect(len(written)).To(BeNumerically("<=", budget), "%v", verbs(written))

				changeManifests(ctx, g, settingsMap("a: x", updatePolicy(to)))
				expectReady(ctx, g)
				Expect(dataOf(ctx, namespace)).To(Equal(map[string]any{"a": "x"}))
			})
		}
	}

	It("after a change of the component's default update policy, the managed fields contain a single entry of "+
		"the operator", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", settingsMap("a: x, dropped: x"))
		expectReady(ctx, g)
		for _, policy := range []string{"replace", "ssa-merge", "replace"} {
			change(ctx, g, func(g *gadget.Gadget) { g.Spec.Policies.Update = metav1alpha1.UpdatePolicy(policy) })
			Eventually(ctx, func() []string { return managers(mustGet(ctx, "v1", "ConfigMap", namespace, "settings")) }).
				Should(ConsistOf(ownEntry(policy)))
			expectReady(ctx, g)
		}
		changeManifests(ctx, g, settingsMap("a: x"))
		expectReady(ctx, g)
		Expect(dataOf(ctx, namespace)).To(Equal(map[string]any{"a": "x"}))
	})
})
