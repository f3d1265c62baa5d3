package conformance_test

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// loseStatus empties the status of a gadget while no operator serves the gadget.
func loseStatus(ctx context.Context, g *gadget.Gadget) {
	GinkgoHelper()
	emptied := current(ctx, g)
	emptied.Status = gadget.GadgetStatus{}
	Expect(k8s.Status().Update(ctx, emptied)).To(Succeed())
}

var _ = Describe("Lost inventories without the right to list dependents:", func() {
	const blind = "'' | configmaps | get, create, patch, delete"

	Context("dependents are listed as the component's identity:", func() {
		var operator, tenant, account string
		var options operatorOptions
		BeforeEach(func(ctx SpecContext) {
			operator, tenant = newOperatorName(), newNamespace(ctx)
			account = serviceAccountUser(tenant, "deployer")
			permit(ctx, "", operator, operator, documented("fairlead-operator-tenants")...)
			options = operatorOptions{
				user:      newUser(ctx, operator),
				component: component.Options{Watching: component.Watching{Scope: component.WatchScopeIdentity}},
			}
		})
		lose := func(ctx context.Context, text string) *gadget.Gadget {
			GinkgoHelper()
			permit(ctx, tenant, "deployer", account, rightsOnConfigs)
			stop := runOperator(operator, options)
			g := newGadget(ctx, tenant, "app", text, servedBy(operator), asServiceAccount("deployer"), retrySoon)
			expectReady(ctx, g)
			stop()
			loseStatus(ctx, g)
			withdraw(ctx, tenant, "deployer")
			permit(ctx, tenant, "blind", account, blind)
			return g
		}
		expectRefused := func(ctx context.Context, g *gadget.Gadget, advice string) {
			GinkgoHelper()
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
				HavePrefix("True Forbidden: the recorded inventory is lost or damaged"),
				ContainSubstring("in the namespace "+tenant),
				ContainSubstring(`User "`+account+`" cannot list resource`), ContainSubstring(advice)))
		}

		It("a lost inventory is not treated as empty, and dependents that are no longer rendered are pruned when they "+
			"can be listed", func(ctx SpecContext) {
			g := lose(ctx, together(configMap("kept", "a"), configMap("pruned", "a")))
			changeManifests(ctx, g, configMap("kept", "b"))
			runOperator(operator, options)
			expectRefused(ctx, g, "continues with an empty inventory")
			Expect(content(ctx, "ConfigMap", tenant, "kept")["value"]).To(Equal("a"))
			permit(ctx, tenant, "sighted", account, "'' | configmaps | list, watch")
			expectReady(ctx, g)
			Expect(countConfigMaps(ctx, tenant)).To(Equal(1))
		})

		It("when a user removes the finalizer of a component whose inventory was lost, the rendered dependents are applied, "+
			"and the other dependents stay", func(ctx SpecContext) {
			g := lose(ctx, together(configMap("kept", "a"), configMap("left", "a")))
			changeManifests(ctx, g, configMap("kept", "b"))
			runOperator(operator, options)
			expectRefused(ctx, g, "remove the operator's finalizer")
			patch(ctx, current(ctx, g), `{"metadata":{"finalizers":null}}`)
			expectReady(ctx, g)
			Expect(content(ctx, "ConfigMap", tenant, "kept")["value"]).To(Equal("b"))
			Expect(countConfigMaps(ctx, tenant)).To(Equal(2))
		})

		It("a deletion with a lost inventory waits until the dependents can be listed", func(ctx SpecContext) {
			g := lose(ctx, configMaps("cm", 3, "a"))
			remove(ctx, g)
			runOperator(operator, options)
			expectRefused(ctx, g, "remove the operator's finalizer")
			Expect(countConfigMaps(ctx, tenant)).To(Equal(3))
			permit(ctx, tenant, "sighted", account, "'' | configmaps | list, watch")
			expectCondition(ctx, g, metav1alpha1.ConditionStalled,
				And(HavePrefix("True Forbidden: find the objects that are applied when the component is deleted: "),
					ContainSubstring(`User "`+operator+`" cannot list resource "secrets"`)))
			Expect(countConfigMaps(ctx, tenant)).To(Equal(3))
			permit(ctx, tenant, "records", operator, "'' | secrets | list")
			expectNotFound(ctx, g)
			Expect(countConfigMaps(ctx, tenant)).To(BeZero())
		})

		It("a lost inventory is rebuilt if some types can be listed, and an event names the types that "+
			"were not listed", func(ctx SpecContext) {
			g := lose(ctx, configMaps("cm", 3, "a"))
			permit(ctx, tenant, "sighted", account, "'' | configmaps | list, watch")
			changeManifests(ctx, g, configMap("new", "a"))
			runOperator(operator, options)
			expectReady(ctx, g)
			Expect(countConfigMaps(ctx, tenant)).To(Equal(1))
			settle(ctx, operator)
			Eventually(ctx, func() []string { return notesOf(ctx, tenant, "InventoryIncomplete") }).Should(ConsistOf(And(
				ContainSubstring("not listed, because that is forbidden: endpoints, "),
				ContainSubstring("listed in "+tenant+" only: configmaps"),
				ContainSubstring(operator+"/owner-id="))))
		})
	})

	It("a lost inventory blocks neither a deletion with the component's namespace nor the deletion of dependents that "+
		"are found, and the condition names the listed namespaces", func(ctx SpecContext) {
		operator, here, there := newOperatorName(), newNamespace(ctx), newNamespace(ctx)
		options := operatorOptions{
			user: newUser(ctx, operator),
			component: component.Options{
				Watching: component.Watching{Scope: component.WatchScopeNamespaces, Namespaces: []string{here, there}},
			},
		}
		permit(ctx, "", operator, operator, documented("fairlead-operator-somewhere")...)
		serving := slices.DeleteFunc(documented("fairlead-operator"), func(rule string) bool {
			return strings.Contains(rule,
				"configmaps")
		})
		permit(ctx, here, "serve", operator, serving...)
		permit(ctx, here, "configs", operator, rightsOnConfigs)
		permit(ctx, there, "operator", operator, documented("fairlead-operator")...)
		stop := runOperator(operator, options)
		g := newGadget(ctx, here, "app", together(configMap("near", "a"), configMapIn(there, "far", "a")),
			servedBy(operator), retrySoon)
		expectReady(ctx, g)
		stop()
		loseStatus(ctx, g)
		// The right to list Secrets is withdrawn too, because listed Secrets would show that the operator can see objects in
		// the namespace.
		withdraw(ctx, here, "serve")
		withdraw(ctx, here, "configs")
		permit(ctx, here, "unseeing", operator,
			slices.DeleteFunc(serving, func(rule string) bool { return strings.Contains(rule, "secrets") })...)
		runOperator(operator, options)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, HavePrefix("True Forbidden: the recorded inventory is lost"))
		far := mustGet(ctx, "v1", "ConfigMap", there, "far")
		hold(ctx, far)
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", here))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(
			HavePrefix("False Deleting: waiting until deleted: ConfigMap "+there+"/far"),
			ContainSubstring("listed in "+there+" only")))
		letGo(ctx, far)
		expectNotFound(ctx, g)
		expectNotFound(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: here}})
		Expect(countConfigMaps(ctx, there)).To(BeZero())
	})
})
