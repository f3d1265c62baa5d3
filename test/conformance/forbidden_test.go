package conformance_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// grantEverywhere grants rights to a user in all namespaces. A rule has the form "resources: verbs".
func grantEverywhere(ctx context.Context, name, user string, rules ...string) {
	GinkgoHelper()
	create(ctx, fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules:
- {apiGroups: [gadgets.example.com, events.k8s.io], resources: ["*"], verbs: ["*"]}
%[3]s---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %[2]q}]`, name, user, policyRules(rules)))
	awaitRights(ctx, "", user, rules)
}

var _ = Describe("Types that the operator is not allowed to watch:", func() {
	var namespace, operator string
	account := "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: unwatched, labels: {team: blue}}"

	BeforeEach(func(ctx SpecContext) {
		namespace, operator = newNamespace(ctx), newOperatorName()
		user, err := cluster.User(ctx, operator)
		Expect(err).NotTo(HaveOccurred())
		grantEverywhere(ctx, operator, operator, "namespaces: '*'", "configmaps: '*'",
			"serviceaccounts: get, create, patch, delete")
		runOperator(operator, operatorOptions{user: user.Config})
	})
	accountRequests := func(ctx context.Context, mark auditMark) testcluster.Events {
		return inNamespace(auditEvents(ctx)[mark:].UserAgent(userAgent(operator)), namespace).Resource("serviceaccounts")
	}

	It("dependents of a type that the operator is not allowed to watch are read at the retry interval, which the status "+
		"reports, and other dependents are not blocked", func(ctx SpecContext) {
		mark := markAudit(ctx)
		g := newGadget(ctx, namespace, "app", together(account, configMap("sibling", "a"),
			configMap("later", "a", fmt.Sprintf("%s/order: '1'", operator))), servedBy(operator), retrySoon)
		expectReady(ctx, g)
		Expect(condition(current(ctx, g), metav1alpha1.ConditionReady)).
			To(And(ContainSubstring("3 dependents are ready; read at the retry interval"),
				ContainSubstring("ServiceAccount ("),
				ContainSubstring(`User "`+operator+`" cannot list resource "serviceaccounts"`),
				ContainSubstring("allow list and watch")))
		first := accountRequests(ctx, mark)
		Expect(verbs(first)[:2]).To(Equal([]string{"get serviceaccounts 404", "patch serviceaccounts 201"}))

		By("detecting drift and the deletion of a dependent by reads at the retry interval")
		unwatched := mustGet(ctx, "v1", "ServiceAccount", namespace, "unwatched")
		patch(ctx, unwatched, `{"metadata":{"labels":{"team":"red"}}}`)
		Eventually(ctx, func() map[string]string {
			return mustGet(ctx, "v1", "ServiceAccount", namespace, "unwatched").GetLabels()
		}).Should(HaveKeyWithValue("team", "blue"))
		remove(ctx, unwatched)
		Eventually(ctx, func() error { _, err := get(ctx, "v1", "ServiceAccount", namespace, "unwatched"); return err }).
			Should(Succeed())

		By("watching the type when the right to watch it is granted")
		grantEverywhere(ctx, operator+"-watch", operator, "serviceaccounts: list, watch")
		expectCondition(ctx, g, metav1alpha1.ConditionReady, HaveSuffix("3 dependents are ready"))
		settle(ctx, operator)
		mark = markAudit(ctx)
		remove(ctx, mustGet(ctx, "v1", "ServiceAccount", namespace, "unwatched"))
		Eventually(ctx, func() error { _, err := get(ctx, "v1", "ServiceAccount", namespace, "unwatched"); return err }).
			Should(Succeed())
		Expect(verbs(accountRequests(ctx, mark))).To(Equal([]string{"patch serviceaccounts 201"}))
	})

	It("dependents of a type that the operator is not allowed to watch are pruned and deleted", func(ctx SpecContext) {
		other := "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: pruned}"
		g := newGadget(ctx, namespace, "app", together(account, other), servedBy(operator), retrySoon)
		expectReady(ctx, g)
		changeManifests(ctx, g, account)
		Eventually(ctx, func() error { _, err := get(ctx, "v1", "ServiceAccount", namespace, "pruned"); return err }).
			Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		_, err := get(ctx, "v1", "ServiceAccount", namespace, "unwatched")
		Expect(err).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
	})

	It("if the operator has no right to watch a type, it reads an existing object of the type before the adoption, and "+
		"reports a conflict if the object has another owner", func(ctx SpecContext) {
		create(ctx, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: unwatched, namespace: "+namespace+"}")
		g := newGadget(ctx, namespace, "app", account, servedBy(operator), retrySoon)
		expectReady(ctx, g)
		thief := newGadget(ctx, namespace, "thief", account, servedBy(operator), retrySoon)
		expectCondition(ctx, thief, metav1alpha1.ConditionStalled, And(HavePrefix("True OwnershipConflict"),
			ContainSubstring(namespace+"/unwatched")))
	})

	It("if the operator has the right neither to watch nor to read a dependent, only this dependent fails, and the "+
		"message names the user and the missing right", func(ctx SpecContext) {
		quota := "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: quota}\nspec: {hard: {pods: 10}}"
		g := newGadget(ctx, namespace, "app", together(quota, configMap("sibling", "a")), servedBy(operator), retrySoon)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True DependentFailed: failed: ResourceQuota "+namespace+"/quota"),
				ContainSubstring(`User "`+operator+`" cannot get resource "resourcequotas"`),
				ContainSubstring("grant it to that user"), ContainSubstring("allow list and watch")))
		mustGet(ctx, "v1", "ConfigMap", namespace, "sibling")
	})
})
