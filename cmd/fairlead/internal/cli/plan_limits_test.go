package cli_test

import (
	"context"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// allow binds ClusterRoles to a user in a namespace. Aggregated ClusterRoles have no rules, because this cluster runs
// no controllers.
func allow(ctx context.Context, namespace, user string, roles ...string) {
	GinkgoHelper()
	for _, role := range roles {
		Expect(k8s.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user + "-" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		})).To(Succeed())
	}
}

const (
	mayView = "system:aggregate-to-view"
	mayEdit = "system:aggregate-to-edit"
)

var _ = Describe("plan with limits", onCluster(func() {
	It("makes dry runs in the cluster and as the user of a component's kubeconfig", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		deployer := must(kube.User(ctx, "deployer-of-"+namespace))
		allow(ctx, namespace, "deployer-of-"+namespace, mayView, mayEdit)
		allow(ctx, "kube-system", "deployer-of-"+namespace, mayView)
		grantTo(ctx, namespace, "fairlead", ruleFor("secrets", "get"))
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{
			"web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n---\napiVersion: v1\nkind: " +
				"Namespace\nmetadata: {name: beyond}\n",
		}}
		c.Spec.Target = &metav1alpha1.KubeConfigSource{SecretRef: metav1alpha1.KubeConfigKey{Name: "there"}}
		Expect(k8s.Create(ctx, c)).To(Succeed())
		Eventually(ctx, func() result { return fairlead(ctx, namespace, "plan", "shop") }).
			Should(And(HaveField("Code", 1), HaveField("Err",
				And(ContainSubstring("the operator would do nothing"), ContainSubstring("there")))))

		Expect(k8s.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "there"},
			Data:       map[string][]byte{metav1alpha1.DefaultKubeConfigKey: must(os.ReadFile(deployer.Kubeconfig))},
		})).To(Succeed())
		// The authorizer of the API server knows a new RoleBinding only a moment later.
		Eventually(ctx, func() result { return fairlead(ctx, namespace, "plan", "shop") }).
			Should(And(HaveField("Code", 3), HaveField("Out", And(
				MatchRegexp(`create +ConfigMap +`+namespace+`/web +it is new; blocked\n`),
				ContainSubstring("deployer-of-"+namespace), // The user of the kubeconfig may not create the namespace.
			))))
	})

	It("reports that a write was not checked if the person lacks the right", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		allow(ctx, namespace, "reader", mayView, "fairlead-components-viewer")
		dir := folder(shopTemplates()...)
		Eventually(ctx, func() result { return fairlead(ctx, namespace, "plan", "shop", dir, "--as=reader") }).
			Should(And(HaveField("Code", 3), HaveField("Out", And(
				MatchRegexp(`create +ConfigMap +`+namespace+`/settings +it is new; not checked: you lack a right for the dry run`),
				ContainSubstring("Secret "+namespace+"/login (wave 0): Forbidden"), HaveSuffix("3 to create.\n"),
			)), HaveField("Err",
				"fairlead: component.fairlead.io/shop: these objects cannot be read: Secret "+namespace+"/login\n")))
	})

	It("reports that a namespace is not deleted as long as it contains foreign objects", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		inner := namespace + "-inner"
		applied(ctx, namespace, folder("inner.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+inner+"}\n"))
		Expect(k8s.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: inner, Name: "theirs"}})).
			To(Succeed())
		r := fairlead(ctx, namespace, "plan", "shop", "--delete")
		Expect(r).To(HaveField("Code", 1))
		Expect(r.Out).To(ContainSubstring("Namespace " + inner +
			" (wave 0): NamespaceNotEmpty: the namespace contains objects that would be deleted with it (1): " +
			"ConfigMap " + inner + "/theirs"))
	})
}))
