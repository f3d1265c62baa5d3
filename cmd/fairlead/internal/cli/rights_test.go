package cli_test

import (
	"context"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// grantTo creates a role with rules for a service account.
func grantTo(ctx context.Context, namespace, account string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: account}
	Expect(client.IgnoreAlreadyExists(k8s.Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}))).To(Succeed())
	role := &rbacv1.Role{ObjectMeta: meta, Rules: rules}
	Expect(k8s.Create(ctx, role)).To(Succeed())
	Expect(k8s.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	})).To(Succeed())
	return role
}

func ruleFor(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
}

var _ = Describe("missing rights of a component", onCluster(func() {
	It("are granted by the command that status and apply print", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		grantTo(ctx, namespace, "deployer", ruleFor("secrets", "get"))
		dir := folder("a.yaml", settingsFile("a", "{}"), "b.yaml", settingsFile("b", "{}"))
		command := "fairlead rbac -n " + namespace + " shop --bind | kubectl apply -f -"
		r := fairlead(ctx, namespace, "apply", "shop", dir, "--service-account", "deployer", "--wait")
		Expect(r).To(And(HaveField("Code", 1),
			HaveField("Err", ContainSubstring("; this grants the rights that its objects need: "+command))))
		Expect(fairlead(ctx, namespace, "status", "shop").Out).
			To(MatchRegexp(`(?m)^Grant with: +` + regexp.QuoteMeta(command) + "$"))
	})
}))

var _ = Describe("the rights for a deletion", onCluster(func() {
	const released = `{apiVersion: v1, kind: Secret, metadata: {name: kept, annotations: {fairlead.io/delete-policy: orphan}}}`
	files := []string{
		"a.yaml", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, "b.yaml",
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}`,
		"secret.yaml", released,
	}

	// deprived returns a namespace with a component whose service account has lost rights.
	deprived := func(ctx context.Context, left ...rbacv1.PolicyRule) string {
		GinkgoHelper()
		namespace := newNamespace(ctx)
		operate(namespace)
		role := grantTo(ctx, namespace, "deployer", ruleFor("*", "*"))
		applied(ctx, namespace, folder(files...), "--service-account", "deployer")
		role.Rules = left
		Expect(k8s.Update(ctx, role)).To(Succeed())
		return namespace
	}
	plan := func(ctx context.Context, namespace string, more ...string) result {
		return fairlead(ctx, namespace, append([]string{"plan", "shop", "--delete"}, more...)...)
	}

	It("are all there if nothing is missing", func(ctx SpecContext) {
		r := plan(ctx, deprived(ctx, ruleFor("configmaps", "get", "delete"), ruleFor("secrets", "patch")))
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err", ""), HaveField("Out", Not(ContainSubstring("RIGHT")))))
	})

	It("are named in one table by plan --delete and by delete if the service account of the "+
		"component lacks them", func(ctx SpecContext) {
		named := ruleFor("configmaps", "delete")
		named.ResourceNames = []string{"a"}
		namespace := deprived(ctx, ruleFor("configmaps", "get"), named)
		user := "system:serviceaccount:" + namespace + ":deployer"
		want := []string{
			"RIGHT ON WHY USER", "delete configmaps b in " + namespace + " to delete dependents " + user,
			"patch secrets kept in " + namespace + " to release dependents " + user,
		}
		r := plan(ctx, namespace)
		Expect(r.Code).To(Equal(1), r.Err)
		Expect(spaced(r.Out)).To(ContainElements(want))
		r = plan(ctx, namespace, "-o", "json")
		Expect(r.Out).To(And(ContainSubstring(`"missingRights"`), ContainSubstring(`"verb": "patch"`)))

		r = fairlead(ctx, namespace, "delete", "shop")
		Expect(r.Code).To(Equal(0), r.Err)
		Expect(r.Err).To(HavePrefix("warning: the deletion needs rights that are missing"))
		Expect(r.Out).To(HavePrefix("Secret " + namespace + "/kept stays in the cluster, because of its delete policy\n"))
		Expect(spaced(r.Err)).To(ContainElements(want))
	})

	It("are not checked for a person who may not ask for them, and plan --delete says so", func(ctx SpecContext) {
		namespace := deprived(ctx)
		allow(ctx, namespace, "viewer-of-"+namespace, mayView, mayEdit, "fairlead-components-viewer")
		grantSecrets := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "all"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "viewer-of-" + namespace}},
		}
		Expect(k8s.Create(ctx, grantSecrets)).To(Succeed())
		Eventually(ctx, func() string { return plan(ctx, namespace, "--as=viewer-of-"+namespace).Err }).
			Should(ContainSubstring("warning: the rights for the deletion were not checked, because you may not create " +
				"SubjectAccessReviews"))
	})

	It("are those of the operator if the component names no service account", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		applied(ctx, namespace, folder(files[:2]...))
		labels := map[string]string{"app.kubernetes.io/name": "fairlead-operator"}
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "operator",
			Labels: labels,
		}}
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		deployment.Spec.Template.Spec = corev1.PodSpec{
			ServiceAccountName: "runner",
			Containers:         []corev1.Container{{Name: "main", Image: "operator"}},
		}
		Expect(k8s.Create(ctx, deployment)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, deployment)).To(Succeed()) })
		r := plan(ctx, namespace)
		Expect(r.Code).To(Equal(1), r.Err)
		Expect(spaced(r.Out)).To(ContainElement("delete configmaps a in " + namespace +
			" to delete dependents system:serviceaccount:" + namespace + ":runner"))

		deployment.Spec.Template.Spec.Containers[0].Args = []string{"--default-service-account=tenant"}
		Expect(k8s.Update(ctx, deployment)).To(Succeed())
		Expect(plan(ctx, namespace).Out).To(ContainSubstring("system:serviceaccount:" + namespace + ":tenant"))
	})
}))

// spaced returns the lines of a text with single spaces between words.
func spaced(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}
