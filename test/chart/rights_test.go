package chart_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const account = "fairlead"

// newTenant creates a namespace with the service account that components act as. The service account has no rights yet.
func newTenant(ctx context.Context, name string) string {
	GinkgoHelper()
	Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	Expect(admin.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: account}})).
		To(Succeed())
	return name
}

func createShop(ctx context.Context, namespace string, spec v1alpha1.ComponentSpec) *v1alpha1.Component {
	GinkgoHelper()
	c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}, Spec: spec}
	c.Spec.RetryDuration = &metav1.Duration{Duration: time.Second}
	Expect(admin.Create(ctx, c)).To(Succeed())
	return c
}

func fairlead(ctx context.Context, args ...string) string {
	GinkgoHelper()
	out, err := run(ctx, filepath.Join(programs, "fairlead"), args...)
	Expect(err).NotTo(HaveOccurred())
	return out
}

// rich is a chart with a type and an instance of it, a hook, roles that grant rights, a look-up, and objects in another
// namespace.
var rich = map[string]string{
	"Chart.yaml":  "{apiVersion: v2, name: rich, version: 1.0.0}",
	"values.yaml": "{level: one, extra: true}",
	"templates/all.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {level: {{ .Values.level }}, seen: {{ lookup "v1" "ConfigMap" .Release.Namespace "given" | dig "data" "text" "nothing" }}}
---
apiVersion: v1
kind: Secret
metadata: {name: login, annotations: {fairlead.io/update-policy: replace}}
stringData: {level: {{ .Values.level }}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: web}}
---
{apiVersion: v1, kind: Service, metadata: {name: here}, spec: {ports: [{port: 80}]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: rich-secrets, annotations: {fairlead.io/update-policy: replace}}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get, {{ eq .Values.level "one" | ternary "list" "watch" }}]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: rich-nodes}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get, delete]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: rich-nodes}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: rich-nodes}
subjects: [{kind: ServiceAccount, name: web, namespace: {{ .Release.Namespace }}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: viewers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: web, namespace: {{ .Release.Namespace }}}]
---
{apiVersion: v1, kind: Service, metadata: {name: there, namespace: rich-elsewhere}, spec: {ports: [{port: {{ eq .Values.level "one" | ternary 80 81 }}}]}}
{{- if .Values.extra }}
---
{apiVersion: v1, kind: LimitRange, metadata: {name: dropped}}
{{- end }}
---
{apiVersion: rich.example.com/v1, kind: Ox, metadata: {name: one}, level: {{ .Values.level }}}
`,
	"templates/hook.yaml": `
apiVersion: v1
kind: ReplicationController
metadata: {name: prepare, annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: hook-succeeded}}
spec: {replicas: 0, selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}
`,
	"crds/oxen.yaml": `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: oxen.rich.example.com}
spec:
  group: rich.example.com
  names: {kind: Ox, plural: oxen}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`,
}

func richFolder() string {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	for name, content := range rich {
		path := filepath.Join(folder, name)
		Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
		Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
	}
	return folder
}

// without removes a verb on a resource from the rules of a role, and reports whether a rule contained it.
func without(role *unstructured.Unstructured, resource, verb string) bool {
	GinkgoHelper()
	if _, hasRules := role.Object["rules"]; !hasRules {
		return false
	}
	var r rbacv1.ClusterRole // a Role has the same rules
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(role.Object, &r)).To(Succeed())
	found := false
	var rules []rbacv1.PolicyRule
	for _, rule := range r.Rules {
		for _, of := range rule.Resources {
			one := *rule.DeepCopy()
			one.Resources = []string{of}
			if of == resource && slices.Contains(rule.Verbs, verb) {
				one.Verbs, found = slices.DeleteFunc(one.Verbs, func(v string) bool { return v == verb }), true
			}
			if len(one.Verbs) > 0 {
				rules = append(rules, one)
			}
		}
	}
	r.Rules = rules
	data, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&r)
	Expect(err).NotTo(HaveOccurred())
	role.Object["rules"] = data["rules"]
	return found
}

func applyAll(ctx context.Context, objects []*unstructured.Unstructured) {
	GinkgoHelper()
	for _, object := range objects {
		Expect(admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.ForceOwnership,
			client.FieldOwner("test"))).To(Succeed())
	}
}

var _ = Describe("The operator with the rights of the chart:", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		install(ctx, chart)
		start(ctx, credentials(ctx))
	}, NodeTimeout(time.Minute))
	AfterAll(func(ctx SpecContext) { helm(ctx, "uninstall", release, "--wait") }, NodeTimeout(time.Minute))

	It("the condition of a component without rights names the missing right, and the component continues when the "+
		"right is granted", func(ctx SpecContext) {
		namespace := newTenant(ctx, "outside")
		c := createShop(ctx, namespace, v1alpha1.ComponentSpec{Source: oneConfigMap()})
		Eventually(status(ctx, namespace, "shop")).Should(And(HavePrefix("Stalled DependentFailed: "),
			ContainSubstring(`User "system:serviceaccount:outside:fairlead" cannot patch resource "configmaps"`)))
		Expect(admin.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "edit"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
		})).To(Succeed())
		Eventually(status(ctx, namespace, "shop")).Should(HavePrefix("Ready Ready: "))
		Expect(admin.Delete(ctx, c)).To(Succeed())
		Eventually(absent(ctx, c)).Should(Succeed())
	}, SpecTimeout(2*time.Minute))

	It("the operator cannot impersonate a service account that the values of the "+
		"chart do not name", func(ctx SpecContext) {
		namespace := newTenant(ctx, "unnamed")
		createShop(ctx, namespace, v1alpha1.ComponentSpec{
			Source: oneConfigMap(), ServiceAccountSpec: metav1alpha1.ServiceAccountSpec{ServiceAccount: "default"},
		})
		Eventually(status(ctx, namespace, "shop")).Should(And(HavePrefix("Stalled "),
			ContainSubstring(`cannot impersonate resource "serviceaccounts"`)))
	}, SpecTimeout(time.Minute))

	It("a chart with many kinds is applied, upgraded and deleted with the roles that fairlead rbac prints, and each of "+
		"their rules is necessary", func(ctx SpecContext) {
		namespace := newTenant(ctx, "rich")
		Expect(client.IgnoreAlreadyExists(admin.Create(ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "rich-elsewhere"}}))).To(Succeed())
		Expect(admin.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "given"},
			Data:       map[string]string{"text": "given"},
		})).To(Succeed())
		printed := fairlead(ctx, "rbac", "shop", "--dir", richFolder(), "--namespace", namespace, "--bind")
		roles, err := manifests.Decode("roles.yaml", []byte(printed))
		Expect(err).NotTo(HaveOccurred())
		applyAll(ctx, roles)
		fairlead(ctx, "apply", "shop", richFolder(), "--namespace", namespace)
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		Eventually(status(ctx, namespace, "shop")).WithTimeout(time.Minute).Should(HavePrefix("Ready Ready: "))

		By("checking that fairlead rbac prints the same roles for the component in the cluster")
		live, err := manifests.Decode("roles.yaml", []byte(fairlead(ctx, "rbac", "shop", "--namespace", namespace, "--bind")))
		Expect(err).NotTo(HaveOccurred())
		Expect(live).To(Equal(roles))

		By("upgrading")
		Eventually(func() error {
			if err := admin.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
				return err
			}
			c.Spec.Values = &runtime.RawExtension{Raw: []byte(`{"level":"two","extra":false}`)}
			return admin.Update(ctx, c)
		}).Should(Succeed())
		Eventually(status(ctx, namespace, "shop")).WithTimeout(time.Minute).Should(HavePrefix("Ready Ready: "))
		Eventually(absent(ctx, &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "dropped"}})).
			Should(Succeed())

		By("deleting")
		Expect(admin.Delete(ctx, c)).To(Succeed())
		Eventually(absent(ctx, c)).WithTimeout(time.Minute).Should(Succeed())

		for _, rule := range []string{
			"configmaps patch", "secrets create", "services create", "limitranges delete", "clusterroles escalate",
			"roles escalate", "clusterroles bind", "oxen patch",
		} {
			By("removing the right " + rule)
			resource, verb, _ := strings.Cut(rule, " ")
			expectStalledWithout(ctx, namespace, roles, resource, verb)
		}
	}, SpecTimeout(5*time.Minute))
})

var _ = DescribeTable("an operator with a limited watch scope serves components with the rights "+
	"of the chart,", func(ctx SpecContext, namespace, values string) {
	newTenant(ctx, namespace)
	install(ctx, chart, "--set", values)
	DeferCleanup(func(ctx SpecContext) { helm(ctx, "uninstall", release, "--wait") }, NodeTimeout(time.Minute))
	start(ctx, credentials(ctx))
	Expect(admin.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "edit"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	})).To(Succeed())
	c := createShop(ctx, namespace, v1alpha1.ComponentSpec{Source: oneConfigMapAndAfterwards()})
	Eventually(status(ctx, namespace, "shop")).Should(And(HavePrefix("Ready Ready: "),
		Not(ContainSubstring("cannot be watched"))))
	Expect(recordsIn(ctx, namespace)).To(Equal(1))
	Expect(admin.Delete(ctx, c)).To(Succeed())
	Eventually(absent(ctx, c)).Should(Succeed())
	Expect(recordsIn(ctx, namespace)).To(BeZero())

	By("deleting the component with its namespace")
	c = createShop(ctx, namespace, v1alpha1.ComponentSpec{Source: oneConfigMapAndAfterwards()})
	Eventually(status(ctx, namespace, "shop")).Should(HavePrefix("Ready Ready: "))
	Expect(admin.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	Eventually(absent(ctx, c)).WithTimeout(time.Minute).Should(Succeed())
	Eventually(absent(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).WithTimeout(time.Minute).
		Should(Succeed())
},
	Entry("if the operator watches some namespaces", "watched", "observe=namespaces,observeNamespaces={watched}",
		SpecTimeout(2*time.Minute)),
	Entry("if the operator watches as the service accounts of components", "identified", "observe=identity",
		SpecTimeout(2*time.Minute)),
	Entry("if the operator watches as the service accounts of components in some namespaces, and has rights on Secrets "+
		"only in these namespaces", "confined", "observe=identity,components.namespaces={confined}",
		SpecTimeout(2*time.Minute)),
)

var _ = It("an operator watches as a service account with the roles that fairlead rbac prints for "+
	"this watch scope", func(ctx SpecContext) {
	namespace := newTenant(ctx, "rich-identified")
	elsewhere := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "rich-elsewhere"}}
	Expect(client.IgnoreAlreadyExists(admin.Create(ctx, elsewhere))).To(Succeed())
	install(ctx, chart, "--set", "observe=identity")
	DeferCleanup(func(ctx SpecContext) { helm(ctx, "uninstall", release, "--wait") }, NodeTimeout(time.Minute))
	start(ctx, credentials(ctx))
	printed := fairlead(ctx, "rbac", "shop", "--dir", richFolder(), "--namespace", namespace, "--observe",
		"identity", "--bind")
	roles, err := manifests.Decode("roles.yaml", []byte(printed))
	Expect(err).NotTo(HaveOccurred())
	applyAll(ctx, roles)
	fairlead(ctx, "apply", "shop", richFolder(), "--namespace", namespace)
	Eventually(status(ctx, namespace, "shop")).WithTimeout(time.Minute).Should(And(HavePrefix("Ready Ready: "),
		Not(ContainSubstring("cannot be watched"))))
	c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
	Expect(admin.Delete(ctx, c)).To(Succeed())
	Eventually(absent(ctx, c)).WithTimeout(time.Minute).Should(Succeed())
}, SpecTimeout(3*time.Minute))

// oneConfigMapAndAfterwards is oneConfigMap with a deletion phase, so that the operator stores a record in a Secret.
func oneConfigMapAndAfterwards() v1alpha1.Source {
	source := oneConfigMap()
	source.Inline.Files["after.yaml"] = `{apiVersion: v1, kind: ConfigMap, metadata: {name: after, annotations: {fairlead.io/phase: post-delete}}}`
	return source
}

// recordsIn returns the number of Secrets with records in a namespace.
func recordsIn(ctx context.Context, namespace string) int {
	GinkgoHelper()
	list := &corev1.SecretList{}
	Expect(admin.List(ctx, list, client.InNamespace(namespace), client.HasLabels{"fairlead.io/record-of"})).To(Succeed())
	return len(list.Items)
}

// expectStalledWithout expects that the component cannot be applied or deleted without a rule, and then adds the rule.
func expectStalledWithout(ctx context.Context, namespace string, roles []*unstructured.Unstructured,
	resource, verb string,
) {
	GinkgoHelper()
	lacking, found := []*unstructured.Unstructured{}, false
	for _, role := range roles {
		role = role.DeepCopy()
		if without(role, resource, verb) {
			found = true
		}
		lacking = append(lacking, role)
	}
	Expect(found).To(BeTrue(), resource+" "+verb)
	applyAll(ctx, lacking)
	c := createShop(ctx, namespace,
		v1alpha1.ComponentSpec{Source: v1alpha1.Source{Inline: &v1alpha1.InlineSource{Files: rich}}})
	complaint := And(HavePrefix("Stalled "), Or(
		ContainSubstring("cannot "+verb+` resource "`+resource+`"`),
		ContainSubstring("is attempting to grant RBAC permissions not currently held")))
	if verb == "delete" {
		Eventually(status(ctx, namespace, "shop")).WithTimeout(time.Minute).Should(HavePrefix("Ready Ready: "))
		Expect(admin.Delete(ctx, c)).To(Succeed())
	}
	Eventually(details(ctx, namespace, "shop")).WithTimeout(time.Minute).Should(complaint)
	applyAll(ctx, roles)
	if verb != "delete" {
		Eventually(status(ctx, namespace, "shop")).WithTimeout(time.Minute).Should(HavePrefix("Ready Ready: "))
		Expect(admin.Delete(ctx, c)).To(Succeed())
	}
	Eventually(absent(ctx, c)).WithTimeout(time.Minute).Should(Succeed())
}
