package conformance_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// denying returns a policy with the name of a namespace that denies operations on resources in this namespace.
func denying(namespace, group, resources, operations string) string {
	return fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: ["%[2]s"], apiVersions: ["*"], resources: [%[3]s], operations: [%[4]s]}]
  validations: [{expression: "false"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec:
  policyName: %[1]s
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}}`, namespace, group,
		resources, operations)
}

var _ = Describe("Dependents that refuse the records of their component:", func() {
	const quota = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none}\nspec: {hard: {count/secrets: 0}}"
	secrets := func(namespace string) string { return denying(namespace, "", "secrets", "CREATE, UPDATE") }
	statuses := func(namespace string) string {
		return denying(namespace, "gadgets.example.com", "gadgets/status", "UPDATE")
	}
	everything := func(namespace string) string {
		return denying(namespace, "gadgets.example.com", "gadgets, gadgets/status", "UPDATE")
	}
	binding := func(ctx context.Context, namespace string) client.Object {
		return mustGet(ctx, "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", "", namespace)
	}
	refusesSecrets := func(ctx context.Context, namespace string) {
		GinkgoHelper()
		if quota, err := get(ctx, "v1", "ResourceQuota", namespace, "none"); err == nil {
			Eventually(ctx, func() any {
				return field(mustGet(ctx, "v1", "ResourceQuota", namespace, quota.GetName()), "status", "hard")
			}).Should(HaveKey("count/secrets"))
		}
		Eventually(ctx, func() error { return createSecret(ctx, namespace, "tried", "a", client.DryRunAll) }).
			Should(HaveOccurred())
	}
	refusesStatus := func(ctx context.Context, g *gadget.Gadget) {
		GinkgoHelper()
		Eventually(ctx, func() error {
			return k8s.Status().Patch(ctx, current(ctx, g), client.RawPatch(types.MergePatchType, []byte("{}")),
				client.DryRunAll)
		}).Should(HaveOccurred())
	}
	// installed returns a component whose set, with a ConfigMap, has been applied, and the name of its operator.
	installed := func(
		ctx context.Context, set func(namespace string) string, options operatorOptions,
	) (*gadget.Gadget, string) {
		GinkgoHelper()
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, options)
		texts := together(set(namespace), configMap("settings", "a"))
		g := newGadget(ctx, namespace, "app", texts, servedBy(operator), retrySoon)
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "settings") }).Should(BeTrue())
		return g, operator
	}
	// refused returns a component whose records in Secrets its set refuses from now on, and the name of its operator.
	refused := func(ctx context.Context, set func(namespace string) string) (*gadget.Gadget, string) {
		GinkgoHelper()
		g, operator := installed(ctx, set, operatorOptions{
			component: component.Options{Limits: component.Limits{StatusInventory: -1}},
		})
		refusesSecrets(ctx, g.Namespace)
		return g, operator
	}
	events := func(ctx context.Context, namespace, reason string) func() []string {
		return func() []string {
			list := &eventsv1.EventList{}
			Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
			var notes []string
			for _, e := range list.Items {
				if e.Reason == reason {
					notes = append(notes, e.Note)
				}
			}
			return notes
		}
	}

	for _, row := range []struct {
		what, refuser string
		set           func(namespace string) string
		blocking      func(ctx context.Context, namespace string) client.Object
	}{
		{
			"a quota", "ResourceQuota 'none'", func(string) string { return quota },
			func(ctx context.Context, namespace string) client.Object {
				return mustGet(ctx, "v1", "ResourceQuota", namespace, "none")
			},
		},
		{"a policy", "ValidatingAdmissionPolicy '", secrets, binding},
	} {
		It(row.what+
			" that refuses the Secrets of the inventory is named with the way out, which works", func(ctx SpecContext) {
			g, operator := refused(ctx, row.set)
			namespace := g.Namespace
			changeManifests(ctx, g, together(configMap("settings", "b"), configMap("more", "b")))
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
				HavePrefix("True Forbidden: write the inventory, which is too large for the status, to Secrets: "+row.refuser),
				ContainSubstring("leave it out in a revision that adds no object"), Not(ContainSubstring("inventory-"))))
			settle(ctx, operator)
			Expect(len(events(ctx, namespace, metav1alpha1.ReasonForbidden)())).To(BeNumerically("<=", 2),
				"each pass created an event")

			remove(ctx, row.blocking(ctx, namespace))
			expectReady(ctx, g)
			Expect(configMapExists(ctx, namespace, "more")).To(BeTrue())
			remove(ctx, g)
			expectNotFound(ctx, g)
		})

		It("a component with "+row.what+" that refuses the Secrets of the inventory can be deleted", func(ctx SpecContext) {
			g, _ := refused(ctx, row.set)
			namespace := g.Namespace
			changeManifests(ctx, g, together(configMap("settings", "b"), configMap("more", "b")))
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, HavePrefix("True Forbidden"))
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(configMapExists(ctx, namespace, "settings")).To(BeFalse())
		})

		It("a revision that adds no object removes "+row.what+
			" that refuses the Secrets of the inventory", func(ctx SpecContext) {
			g, _ := refused(ctx, row.set)
			namespace := g.Namespace
			changeManifests(ctx, g, configMap("settings", "b"))
			Eventually(ctx, func() any { return content(ctx, "ConfigMap", namespace, "settings")["value"] }).Should(Equal("b"))
			expectReady(ctx, g)
			// The API server applies the removal of a policy after a while.
			Eventually(ctx, func() error { return createSecret(ctx, namespace, "tried", "a", client.DryRunAll) }).
				Should(Succeed())
		})
	}

	It("a policy that refuses the status is named in an event with the way out, which works", func(ctx SpecContext) {
		g, _ := installed(ctx, statuses, operatorOptions{})
		namespace := g.Namespace
		refusesStatus(ctx, g)
		changeManifests(ctx, g, together(configMap("settings", "b"), configMap("more", "b")))
		Eventually(ctx, events(ctx, namespace, "StatusRefused")).Should(ContainElement(And(
			HavePrefix("ValidatingAdmissionPolicy '"+namespace+"' refuses the status"),
			ContainSubstring("leave it out in a revision that adds no object"))))
		remove(ctx, binding(ctx, namespace))
		Eventually(ctx, func() any { return content(ctx, "ConfigMap", namespace, "settings")["value"] }).Should(Equal("b"))
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("a component with a policy that refuses its status and its finalizers can be deleted", func(ctx SpecContext) {
		g, _ := installed(ctx, everything, operatorOptions{})
		namespace := g.Namespace
		refusesStatus(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(configMapExists(ctx, namespace, "settings")).To(BeFalse())
	})
})
