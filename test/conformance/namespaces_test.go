package conformance_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("Missing namespaces:", func() {
	var home, inner string
	BeforeEach(func(ctx SpecContext) {
		home = newNamespace(ctx)
		inner = home + "-inner"
	})
	refuse := func(g *gadget.Gadget) { g.Spec.Policies.MissingNamespaces = metav1alpha1.MissingNamespacesRefuse }
	expectMissing := func(ctx context.Context, name string) {
		GinkgoHelper()
		_, err := get(ctx, "v1", "Namespace", "", name)
		Expect(err).To(MatchError(ContainSubstring("not found")))
	}

	forEachPolicy(func(policy string) {
		It("a missing namespace is created once for all dependents in it, without labels of the operator, and stays after "+
			"the deletion", func(ctx SpecContext) {
			mark := markAudit(ctx)
			g := newGadget(ctx, home, "app", configMaps("cm", 5, "a",
				updatePolicy(policy)), func(g *gadget.Gadget) { g.Spec.TargetNamespace = inner })
			expectReady(ctx, g)
			requests := requestsSince(ctx, mark, operatorName)
			Expect(verbs(requests.Resource("namespaces").Where(func(e testcluster.Event) bool {
				return e.Name == inner ||
					e.Name == ""
			}))).
				To(Equal([]string{"create namespaces 201"}))
			Expect(inNamespace(requests, inner)).To(HaveLen(2*5),
				"each create failed once, because the namespace did not exist: %v", verbs(requests))
			created := mustGet(ctx, "v1", "Namespace", "", inner)
			Expect(created.GetLabels()).To(HaveLen(1), "the created namespace must have only the label that Kubernetes sets")
			Expect(created.GetAnnotations()).To(BeEmpty())
			Expect(current(ctx, g).Status.Inventory).To(HaveLen(5))

			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(countConfigMaps(ctx, inner)).To(BeZero())
			Expect(mustGet(ctx, "v1", "Namespace", "", inner).GetDeletionTimestamp()).To(BeNil())
		})

		It("a missing namespace is created in the wave of the first dependent in it", func(ctx SpecContext) {
			g := newGadget(ctx, home, "app", together(heldDeployment("web", updatePolicy(policy)),
				within(inner, configMap("later", "a", updatePolicy(policy), order(1)))))
			expectCondition(ctx, g, metav1alpha1.ConditionReady, ContainSubstring("Deployment.apps "+home+"/web"))
			expectMissing(ctx, inner)
			changeManifests(ctx, g, together(deployment("web", updatePolicy(policy)),
				within(inner, configMap("later", "a", updatePolicy(policy), order(1)))))
			expectReady(ctx, g)
			mustGet(ctx, "v1", "ConfigMap", inner, "later")
		})
	})

	It("a missing namespace that is a dependent is created in its own wave", func(ctx SpecContext) {
		g := newGadget(ctx, home, "app", together(namespaceManifest(inner), within(inner, configMap("settings", "a"))))
		expectReady(ctx, g)
		Expect(mustGet(ctx, "v1", "Namespace", "", inner).GetLabels()).To(HaveKey(operatorName + "/owner-id"))
	})

	It("a missing namespace that was created and deleted is created again with its dependents", func(ctx SpecContext) {
		g := newGadget(ctx, home, "app", within(inner, configMap("settings", "a")))
		expectReady(ctx, g)
		before := mustGet(ctx, "v1", "Namespace", "", inner).GetUID()
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", inner))
		Eventually(ctx, func(g Gomega) {
			created, err := get(ctx, "v1", "Namespace", "", inner)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(created.GetUID()).NotTo(Equal(before))
			_, err = get(ctx, "v1", "ConfigMap", inner, "settings")
			g.Expect(err).NotTo(HaveOccurred())
		}).Should(Succeed())
		expectReady(ctx, g)
	})

	It("a missing namespace is not created if the component's policy refuses it, is named in the condition, and "+
		"is waited for", func(ctx SpecContext) {
		g := newGadget(ctx, home, "app", together(within(inner, configMap("settings", "a")), configMap("sibling", "a")),
			refuse)
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("False Retrying"), ContainSubstring("namespace "+inner+" does not exist")))
		Expect(current(ctx, g).Status.Waiting).To(HaveLen(1))
		Expect(current(ctx, g).Status.Waiting[0].Reason).To(Equal("NamespaceMissing"))
		mustGet(ctx, "v1", "ConfigMap", home, "sibling")
		expectMissing(ctx, inner)

		create(ctx, namespaceManifest(inner))
		expectReady(ctx, g)
	})

	It("the creation of a missing namespace starts a pass", func(ctx SpecContext) {
		refused := metav1alpha1.Policies{MissingNamespaces: metav1alpha1.MissingNamespacesRefuse}
		e := newRing(ctx, home, within(inner, configMap("settings", "a")), refused)
		Expect(e.run(ctx).Applied).To(BeFalse())
		before := e.wakes.Load()
		create(ctx, namespaceManifest(inner))
		Eventually(ctx, e.wakes.Load).Should(BeNumerically(">", before))
		Expect(e.run(ctx).Applied).To(BeTrue())
	})

	It("a policy of the component about missing namespaces takes precedence over the policy of "+
		"the reconciler", func(ctx SpecContext) {
		operator := newOperatorName()
		o := operatorOptions{}
		o.component.Dependents.Policies.MissingNamespaces = metav1alpha1.MissingNamespacesRefuse
		runOperator(operator, o)
		g := newGadget(ctx, home, "app", within(inner, configMap("settings", "a")), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "namespace "+inner+" does not exist")
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Policies.MissingNamespaces = metav1alpha1.MissingNamespacesCreate })
		expectReady(ctx, g)
	})

	It("a missing namespace that the operator is not allowed to create is reported "+
		"with the remedy", func(ctx SpecContext) {
		operator := newOperatorName()
		user, err := cluster.User(ctx, operator)
		Expect(err).NotTo(HaveOccurred())
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: operator}, Rules: []rbacv1.PolicyRule{
			{
				APIGroups: []string{"", "gadgets.example.com", "events.k8s.io", "coordination.k8s.io"},
				Resources: []string{"configmaps", "events", "gadgets", "gadgets/status", "leases"}, Verbs: []string{"*"},
			},
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}},
		}}
		Expect(k8s.Create(ctx, role)).To(Succeed())
		Expect(k8s.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: operator}, RoleRef: rbacv1.RoleRef{
				APIGroup: rbacv1.GroupName,
				Kind:     "ClusterRole", Name: operator,
			},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: operator}},
		})).To(Succeed())
		runOperator(operator, operatorOptions{user: user.Config})
		g := newGadget(ctx, home, "app", within(inner, configMap("settings", "a")), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			HavePrefix("True DependentFailed"), ContainSubstring("namespace "+inner+" does not exist"),
			ContainSubstring("forbidden"), ContainSubstring("create it, or grant the right to create it")))
		create(ctx, namespaceManifest(inner))
		expectReady(ctx, g)
	})

	It("a namespace that is being deleted causes no fast retries, and is created again "+
		"after its deletion", func(ctx SpecContext) {
		create(ctx, namespaceManifest(inner))
		create(ctx,
			fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, namespace: %s, finalizers: [example.com/hold]}",
				inner))
		remove(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: inner}})
		g := newGadget(ctx, home, "app", within(inner, configMap("settings", "a")))
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("False Retrying"), ContainSubstring("namespace "+inner+" ")))
		Expect(current(ctx, g).Status.Waiting[0].Reason).To(Equal("NamespaceTerminating"))
		Consistently(ctx, func() int { return len(writes(ctx, operatorName, inner)) }).WithPolling(300 * time.Millisecond).
			Should(BeNumerically("<", 8))
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", inner, "held"), `{"metadata":{"finalizers":null}}`)
		expectReady(ctx, g)
		mustGet(ctx, "v1", "ConfigMap", inner, "settings")
	})
})
