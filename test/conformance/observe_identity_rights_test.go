package conformance_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// referring adds a reference to a Secret. A ConfigMap is rendered from the Secret.
func referring(name string) func(*gadget.Gadget) {
	return func(g *gadget.Gadget) { g.Spec.References = []metav1alpha1.Reference{{Kind: "Secret", Name: name}} }
}

var _ = Describe("An operator that watches as the components' identities:", func() {
	var t *tenancy
	BeforeEach(func(ctx SpecContext) { t = newTenancy(ctx) })

	It("if the component's identity loses the right to watch dependents, they are read as this identity, and watched "+
		"when the right is granted again", func(ctx SpecContext) {
		permit(ctx, t.namespace, "deployer", t.account, "'' | configmaps | get, create, patch, delete")
		permit(ctx, t.namespace, "watch", t.account, "'' | configmaps | list, watch")
		runOperator(t.operator, t.options)
		g := t.newGadget(ctx, configMap("settings", "a"))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		withdraw(ctx, t.namespace, "watch")
		t.cutter.cut()
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("True Ready: 1 dependent is ready; read at the retry interval"),
				ContainSubstring(`User "`+t.account+`" cannot list resource "configmaps"`),
				ContainSubstring(
					`allow that user get, list and watch, as in the roles that "fairlead rbac NAME --observe identity" prints`)))
		drifts(ctx, t.namespace, "settings")
		permit(ctx, t.namespace, "again", t.account, "'' | configmaps | list, watch")
		expectCondition(ctx, g, metav1alpha1.ConditionReady, HaveSuffix("1 dependent is ready"))
		Expect(verbs(t.requests(ctx, mark).Resource("configmaps").As(""))).To(BeEmpty())
	})

	It("a component whose identity has lost its rights is deleted with its namespace", func(ctx SpecContext) {
		other := newNamespace(ctx)
		for _, namespace := range []string{t.namespace, other} {
			permit(ctx, namespace, "deployer", t.account, rightsOnConfigs)
		}
		permit(ctx, "", t.operator+"-records", t.operator, "'' | secrets | get, list, watch, create, patch, delete")
		runOperator(t.operator, t.options)
		g := t.newGadget(ctx, together(configMap("near", "a"), configMapIn(other, "far", "a"),
			configMap("before", "a", preDelete(t.operator)), configMap("after", "a", postDelete(t.operator))))
		expectReady(ctx, g)
		withdraw(ctx, t.namespace, "deployer")
		t.cutter.cut()
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", t.namespace))
		expectNotFound(ctx, g)
		expectNotFound(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}})
		Expect(countConfigMaps(ctx, other)).To(BeZero())
	})

	It("a deletion waits for the end of the deletion of another namespace, if the component's identity has no right "+
		"to list the objects in it", func(ctx SpecContext) {
		other := newNamespace(ctx)
		for _, namespace := range []string{t.namespace, other} {
			permit(ctx, namespace, "deployer", t.account, rightsOnConfigs)
		}
		runOperator(t.operator, t.options)
		g := t.newGadget(ctx, together(configMapIn(other, "far", "a"),
			configMap("controller", "a", t.operator+`/apply-order: "-1"`)))
		expectReady(ctx, g)
		far := mustGet(ctx, "v1", "ConfigMap", other, "far")
		hold(ctx, far)
		withdraw(ctx, other, "deployer")
		t.cutter.cut()
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", other))
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(ContainSubstring("ConfigMap "+other+"/far"),
			ContainSubstring(t.account)))
		Expect(countConfigMaps(ctx, t.namespace)).To(Equal(1),
			"the dependent that may release the held object was deleted too early")
		letGo(ctx, far)
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, t.namespace)).To(BeZero())
	})

	It("dependents that the component's identity has no right to read are not treated as deleted while their "+
		"namespace exists", func(ctx SpecContext) {
		permit(ctx, t.namespace, "deployer", t.account, rightsOnConfigs)
		runOperator(t.operator, t.options)
		g := t.newGadget(ctx, configMap("settings", "a"))
		expectReady(ctx, g)
		withdraw(ctx, t.namespace, "deployer")
		t.cutter.cut()
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True DependentFailed: cannot be deleted: ConfigMap "+t.namespace+"/settings"),
				ContainSubstring(t.account)))
		permit(ctx, t.namespace, "again", t.account, rightsOnConfigs)
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, t.namespace)).To(BeZero())
	})

	It("if the component's identity has no right to watch a referenced object, the component is stalled without changes, "+
		"and the message names the missing right", func(ctx SpecContext) {
		create(ctx, "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: "+t.namespace+"}\nstringData: {k: hush}")
		permit(ctx, t.namespace, "deployer", t.account, rightsOnConfigs)
		t.options.generate = copyReferences
		mark := markAudit(ctx)
		runOperator(t.operator, t.options)
		g := t.newGadget(ctx, configMap("pruned", "a"), referring("s"))
		forbidden := And(HavePrefix("True Forbidden: Secret "+t.namespace+"/s: "),
			ContainSubstring(`User "`+t.account+`" cannot list resource "secrets" in API group "" in the namespace "`+
				t.namespace+`"`),
			HaveSuffix(
				`; allow that user get, list and watch, as in the roles that "fairlead rbac NAME --observe identity" prints`))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, forbidden)
		Expect(verbs(t.requests(ctx, mark).Resource("configmaps").Writes())).To(BeEmpty())

		By("continuing without a request when the right is granted")
		permit(ctx, t.namespace, "secrets", t.account, "'' | secrets | get, list, watch")
		expectReady(ctx, g)

		By("losing the right to watch again")
		withdraw(ctx, t.namespace, "secrets")
		t.cutter.cut()
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, forbidden)
		mark = markAudit(ctx)
		changeManifests(ctx, g, configMap("new", "a"))
		Eventually(ctx, func() int64 { return current(ctx, g).Status.ObservedGeneration }).
			Should(Equal(current(ctx, g).Generation))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, forbidden)
		Expect(verbs(t.requests(ctx, mark).Resource("configmaps").Writes())).To(BeEmpty())
		permit(ctx, t.namespace, "again", t.account, "'' | secrets | get, list, watch")
		expectReady(ctx, g)
		Expect(countConfigMaps(ctx, t.namespace)).To(Equal(2), "want the two ConfigMaps copy and new")
	})

	It("an identity that the operator is not allowed to impersonate is named in the condition", func(ctx SpecContext) {
		create(ctx, "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: "+t.namespace+"}\nstringData: {k: hush}")
		permit(ctx, t.namespace, "alice", "alice", rightsOnConfigs, "'' | secrets | get, list, watch")
		runOperator(t.operator, t.options)
		asAlice := func(g *gadget.Gadget) { g.Spec.User, g.Spec.ServiceAccountName = "alice", "" }
		g := t.newGadget(ctx, configMap("settings", "a"), asAlice)
		referrer := newGadget(ctx, t.namespace, "referrer", configMap("other", "a"), servedBy(t.operator), asAlice, retrySoon,
			referring("s"))
		refused := And(ContainSubstring(`User "`+t.operator+`" cannot impersonate`),
			ContainSubstring("; allow that user to impersonate alice"),
			Not(ContainSubstring("list and watch")), Not(ContainSubstring("grant it")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True DependentFailed: failed: ConfigMap "+t.namespace+"/settings"), refused))
		expectCondition(ctx, referrer, metav1alpha1.ConditionStalled,
			And(HavePrefix("True Forbidden: Secret "+t.namespace+"/s: "), refused))
		permit(ctx, "", t.operator+"-alice", t.operator, "'' | users | impersonate")
		expectReady(ctx, g)
		expectReady(ctx, referrer)
	})
})
