package conformance_test

import (
	"context"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("Targets in another cluster that has a namespace of the same name:", Ordered, func() {
	var remote *testcluster.Cluster
	var there client.Client
	var namespace, operator string
	var stop func()
	var g *gadget.Gadget
	BeforeAll(func(SpecContext) {
		// Without controllers, a namespace that is being deleted stays forever.
		remote = testcluster.StartFor(GinkgoTB(), testcluster.Options{NoControllers: true})
		var err error
		there, err = client.New(remote.Config(), client.Options{Scheme: k8s.Scheme()})
		Expect(err).NotTo(HaveOccurred())
	})
	// allow grants the user of the kubeconfig a right in all namespaces.
	allow := func(ctx context.Context, name, resource string, verbs ...string) {
		GinkgoHelper()
		named := metav1.ObjectMeta{Name: namespace + "-" + name}
		Expect(there.Create(ctx, &rbacv1.ClusterRole{
			ObjectMeta: named, Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{""}, Resources: []string{resource},
				Verbs: verbs,
			}},
		})).To(Succeed())
		Expect(there.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: named, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: named.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: namespace}},
		})).To(Succeed())
	}
	everything := []string{"get", "list", "watch", "create", "patch", "delete"}
	BeforeEach(func(ctx SpecContext) {
		namespace, operator = newNamespace(ctx), newOperatorName()
		Expect(there.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		user, err := remote.User(ctx, namespace)
		Expect(err).NotTo(HaveOccurred())
		kubeconfig, err := os.ReadFile(user.Kubeconfig)
		Expect(err).NotTo(HaveOccurred())
		Expect(k8s.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "far"},
			Data:       map[string][]byte{"value": kubeconfig},
		})).To(Succeed())
		allow(ctx, "always", "namespaces", "get")
		allow(ctx, "configmaps", "configmaps", everything...)
		stop = runOperator(operator, operatorOptions{})
		g = newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator), inCluster("far"))
		expectReady(ctx, g)
	})
	forbid := func(ctx context.Context) {
		GinkgoHelper()
		Expect(there.Delete(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: namespace + "-configmaps"}})).
			To(Succeed())
	}
	settings := func(ctx context.Context) error {
		found := newConfigMap(namespace, "settings")
		return there.Get(ctx, client.ObjectKeyFromObject(found), found)
	}

	It("a deletion waits until the namespace of the same name in the target cluster is deleted, if the operator has no "+
		"right to list the objects in it", func(ctx SpecContext) {
		stop()
		forbid(ctx)
		Expect(there.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		runOperator(operator, operatorOptions{})
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True DependentFailed: cannot be deleted: ConfigMap "+namespace+"/settings"),
				ContainSubstring(`User "`+namespace+`" cannot get`)))
		allow(ctx, "again", "configmaps", everything...)
		expectNotFound(ctx, g)
		Expect(settings(ctx)).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
	})

	It("dependents of a lost inventory are searched in the target although the component's own namespace is "+
		"being deleted", func(ctx SpecContext) {
		stop()
		loseStatus(ctx, g)
		forbid(ctx)
		remove(ctx, g)
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", namespace))
		runOperator(operator, operatorOptions{})
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True Forbidden: the recorded inventory is lost or damaged"),
				ContainSubstring(`User "`+namespace+`" cannot list`)))
		Expect(settings(ctx)).To(Succeed())
		allow(ctx, "again", "configmaps", everything...)
		expectNotFound(ctx, g)
		Expect(settings(ctx)).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
	})
})
