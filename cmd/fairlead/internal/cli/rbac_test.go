package cli_test

import (
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// scattered are objects in two namespaces. One of them has a type that is not built in.
const scattered = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: other}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: other}}
`

// hooked is a chart with hooks of different types.
var hooked = []string{
	"Chart.yaml", shopChart,
	"templates/install.yaml",
	"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {helm.sh/hook: pre-install}}}",
	"templates/upgrade.yaml",
	"{apiVersion: v1, kind: Secret, metadata: {name: a, annotations: {helm.sh/hook: pre-upgrade}}}",
	"templates/delete.yaml",
	"{apiVersion: v1, kind: Service, metadata: {name: a, annotations: {helm.sh/hook: pre-delete}}, " +
		"spec: {ports: [{port: 80}]}}",
}

// hookRule is the rule that the hooks of the chart hooked need, in a role.
func hookRule(role string) string {
	return role + " configmaps,secrets,services: get,create,patch,delete"
}

// rulesOf returns the printed rules in the form "NAMESPACE/NAME RESOURCES: VERBS".
func rulesOf(output string) []string {
	GinkgoHelper()
	var found []string
	for _, object := range must(manifests.Decode("roles.yaml", []byte(output))) {
		var role rbacv1.ClusterRole // A Role has rules in the same field.
		Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role)).To(Succeed())
		for _, rule := range role.Rules {
			found = append(found, role.Namespace+"/"+role.Name+" "+strings.Join(rule.Resources,
				",")+": "+strings.Join(rule.Verbs, ","))
		}
	}
	return found
}

var _ = Describe("rbac", func() {
	It("prints a role for each namespace, and a role for the types that the operator watches", func(ctx SpecContext) {
		r := run(ctx, "fairlead", "rbac", "web", "--dir", folder("all.yaml", scattered), "-n", "shop")
		Expect(r.Code).To(Equal(0), r.Err)
		Expect(rulesOf(r.Out)).To(ConsistOf(
			"other/component:shop:web configmaps: get,create,patch,delete",
			"other/component:shop:web widgets: get,create,patch,delete",
			"shop/component-web configmaps: get",
			"shop/component-web configmaps: get,create,patch,delete",
			"/component:shop:web:watch widgets: get,list,watch",
		))
		Expect(r.Err).To(And(HavePrefix("warning: "), ContainSubstring(`is guessed as "widgets"`)))
	})

	It("includes what the hooks of an installation, of an upgrade and of a deletion need", func(ctx SpecContext) {
		r := run(ctx, "fairlead", "rbac", "web", "--dir", folder(hooked...), "-n", "shop")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err", "")))
		Expect(rulesOf(r.Out)).To(ContainElement(hookRule("shop/component-web")))
	})

	It("uses the namespace of the kubeconfig, like apply", func(ctx SpecContext) {
		kubeconfig := filepath.Join(folder("kubeconfig",
			`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, namespace: tenant}}],
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]}`), "kubeconfig")
		r := run(ctx, "fairlead", "rbac", "web", "--dir",
			folder("all.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"), "--kubeconfig", kubeconfig)
		Expect(r.Code).To(Equal(0), r.Err)
		Expect(rulesOf(r.Out)).To(HaveEach(HavePrefix("tenant/component-web ")))
	})

	It("grants watches to the account if the operator does not watch", func(ctx SpecContext) {
		r := run(ctx, "fairlead", "rbac", "web", "--dir", folder("all.yaml", scattered), "-n", "shop", "--observe",
			"identity")
		Expect(r.Code).To(Equal(0), r.Err)
		Expect(rulesOf(r.Out)).To(ConsistOf(
			"other/component:shop:web configmaps: get,list,watch,create,patch,delete",
			"other/component:shop:web widgets: get,list,watch,create,patch,delete",
			"shop/component-web configmaps: get,list,watch",
			"shop/component-web configmaps: get,list,watch,create,patch,delete",
		))
	})

	It("warns of roles that are created by a request without a name", func(ctx SpecContext) {
		dir := folder("role.yaml", `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: a, annotations: {fairlead.io/update-policy: replace}}
rules: []
`)
		r := run(ctx, "fairlead", "rbac", "web", "--dir", dir)
		Expect(r.Code).To(Equal(0), r.Err)
		Expect(r.Err).To(ContainSubstring("escalate cannot be granted by name"))
	})
})

var _ = Describe("rbac of a component", onCluster(func() {
	It("refuses components that do not exist, and components of other operators", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		r := fairlead(ctx, namespace, "rbac", "nobody")
		Expect(r).To(And(HaveField("Code", 1), HaveField("Out", ""), HaveField("Err", ContainSubstring("nobody"))))
		r = fairlead(ctx, namespace, "rbac", "gadgets/g")
		Expect(r).To(And(HaveField("Code", 2), HaveField("Err", ContainSubstring("name a folder with --dir"))))
	})

	It("includes what the hooks of an upgrade need, before and after the installation", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(fairlead(ctx, namespace, "apply", "shop", folder(hooked...), "--skip-plan").Code).To(Equal(0))
		for revision := range int64(3) {
			c := shopIn(ctx, namespace)
			c.Status.Revision, c.Status.ObservedGeneration = revision, c.Generation
			Expect(k8s.Status().Update(ctx, c)).To(Succeed())
			r := fairlead(ctx, namespace, "rbac", "shop")
			Expect(r).To(And(HaveField("Code", 0), HaveField("Err", "")))
			Expect(rulesOf(r.Out)).To(ContainElement(hookRule(namespace + "/component-shop")))
		}
	})

	It("includes what is needed to prune recorded dependents that are not rendered any more", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(fairlead(ctx, namespace, "apply", "shop",
			folder("a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"), "--skip-plan").Code).To(Equal(0))
		c := shopIn(ctx, namespace)
		for _, e := range []metav1alpha1.InventoryEntry{
			{Version: "v1", Kind: "ConfigMap", Namespace: namespace, Name: "a"},
			{Version: "v1", Kind: "Secret", Namespace: namespace, Name: "former"},
			{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Name: "former"},
		} {
			c.Status.Inventory = append(c.Status.Inventory, e.String())
		}
		Expect(k8s.Status().Update(ctx, c)).To(Succeed())
		r := fairlead(ctx, namespace, "rbac", "shop")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err", "")))
		Expect(rulesOf(r.Out)).To(ContainElements(
			namespace+"/component-shop configmaps: get,create,patch,delete",
			namespace+"/component-shop secrets: get,patch,delete",
			"/component:"+namespace+":shop clusterroles: get,patch,delete",
		))
	})

	It("includes the managed types that the component names", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{"a.yaml": "{apiVersion: v1, kind: " +
			"ConfigMap, metadata: {name: a}}"}}
		c.Spec.ManagedTypes = []metav1alpha1.TypePattern{
			{Group: "gadgets.example.com", Kind: "Gadget"},
			{Group: "*.example.com", Kind: "*"},
		}
		Expect(k8s.Create(ctx, c)).To(Succeed())
		r := fairlead(ctx, namespace, "rbac", "shop")
		Expect(r.Code).To(Equal(0), r.Err)
		Expect(rulesOf(r.Out)).To(ContainElement("/component:" + namespace + ":shop:watch gadgets: get,list,watch"))
		Expect(rulesOf(r.Out)).To(ContainElement("/component:" + namespace + ":shop gadgets: list"))
		Expect(r.Err).To(And(HavePrefix("warning: spec.additionalManagedTypes[1]: "), ContainSubstring("*.example.com")))
	})

	It("reads the ignored fields of the component as the operator does", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{"a.yaml": "{apiVersion: v1, kind: " +
			"ConfigMap, metadata: {name: a}}"}}
		c.Spec.Ignore = []metav1alpha1.IgnoreRule{{Paths: []string{"metadata.name"}}}
		Expect(k8s.Create(ctx, c)).To(Succeed())
		r := fairlead(ctx, namespace, "rbac", "shop")
		Expect(r).To(And(HaveField("Code", 1), HaveField("Err", ContainSubstring("spec.ignore: "))))
		c.Spec.Ignore[0].Paths[0] = "data.a"
		Expect(k8s.Update(ctx, c)).To(Succeed())
		Expect(fairlead(ctx, namespace, "rbac", "shop")).To(HaveField("Code", 0))
	})

	// The printed rules depend on this behaviour of the API server.
	It("may create a role by POST only with escalate on all roles", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		user := must(kube.User(ctx, "writer-of-"+namespace))
		writer := must(client.New(user.Config, client.Options{Scheme: k8s.Scheme()}))
		meta := metav1.ObjectMeta{Namespace: namespace, Name: "writer"}
		role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles"}, Verbs: []string{"create"}},
			{
				APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles"}, Verbs: []string{"escalate"},
				ResourceNames: []string{"secrets"},
			},
		}}
		Expect(k8s.Create(ctx, role)).To(Succeed())
		Expect(k8s.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "writer"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "writer-of-" + namespace}},
		})).To(Succeed())
		stronger := func() error {
			return writer.Create(ctx, &rbacv1.Role{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "secrets"},
				Rules: []rbacv1.PolicyRule{{
					APIGroups: []string{corev1.GroupName}, Resources: []string{"secrets"},
					Verbs: []string{"get"},
				}},
			})
		}
		Eventually(stronger).Should(MatchError(ContainSubstring("attempting to grant RBAC permissions not currently held")))
		Expect(apierrors.IsForbidden(stronger())).To(BeTrue())
		role.Rules[1].ResourceNames = nil
		Expect(k8s.Update(ctx, role)).To(Succeed())
		Eventually(stronger).Should(Succeed())
	})
}))
