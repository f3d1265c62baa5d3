package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// definition returns the definition of a type in the group.
func definition(group string) string {
	return strings.ReplaceAll(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tugs.GROUP}
spec:
  group: GROUP
  names: {kind: Tug, plural: tugs}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`, "GROUP", group)
}

// allow grants the operator rights on a type, in the way that config/rbac/custom.yaml describes.
func allow(ctx context.Context, group string, verbs ...string) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "fairlead-operator-" + group,
			Labels: map[string]string{"fairlead.io/aggregate-to-operator": "true"},
		},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{"tugs"}, Verbs: verbs}},
	}
	Expect(administrator.Create(ctx, role)).To(Succeed())
}

// readError returns a function that reads a component and returns the error.
func readError(ctx context.Context, component *v1alpha1.Component) func() error {
	return func() error {
		return administrator.Get(ctx, client.ObjectKeyFromObject(component), &v1alpha1.Component{})
	}
}

var _ = Describe("The operator with the rights of config/rbac", func() {
	retry := &metav1.Duration{Duration: time.Second}

	It("does not delete a CustomResourceDefinition while it has no right to list the "+
		"instances of the type", func(ctx SpecContext) {
		const group = "list.example.com"
		component := createComponent(ctx, newNamespace(ctx), "tugs",
			v1alpha1.ComponentSpec{
				Source: inline("a.yaml", definition(group)), RetrySpec: metav1alpha1.RetrySpec{RetryDuration: retry},
			})
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))

		Expect(administrator.Delete(ctx, component)).To(Succeed())
		Eventually(status(ctx, component)).WithTimeout(soon).Should(And(
			HavePrefix("DeletionBlocked ForeignInstances: "), ContainSubstring("Tug."+group), ContainSubstring("forbidden"),
			ContainSubstring(operatorUser)))
		allow(ctx, group, "list", "watch")
		Eventually(readError(ctx, component)).WithTimeout(soon).Should(Satisfy(apierrors.IsNotFound))
	}, SpecTimeout(time.Minute))

	It("impersonates the service account of a component, and uses only the rights of this account", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		component := createComponent(ctx, namespace, "tenant", v1alpha1.ComponentSpec{
			Source:             inline("a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"),
			RetrySpec:          metav1alpha1.RetrySpec{RetryDuration: retry},
			ServiceAccountSpec: metav1alpha1.ServiceAccountSpec{ServiceAccount: "deployer"},
		})
		account := "system:serviceaccount:" + namespace + ":deployer"
		Eventually(status(ctx, component)).WithTimeout(soon).Should(And(
			HavePrefix("Stalled DependentFailed: "), ContainSubstring(`User "`+account+`" cannot patch resource "configmaps"`)))
		Expect(administrator.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "deployer"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "deployer"}},
		})).To(Succeed())
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		events, err := cluster.AuditEvents(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(events.User(operatorUser).As(account).Verb("patch").Code(201)).To(HaveLen(1))
	}, SpecTimeout(time.Minute))

	It("writes custom resources if an administrator has granted the right", func(ctx SpecContext) {
		const group = "write.example.com"
		instance := fmt.Sprintf("\n---\n{apiVersion: %s/v1, kind: Tug, metadata: {name: a}}\n", group)
		component := createComponent(ctx, newNamespace(ctx), "tugs",
			v1alpha1.ComponentSpec{
				Source: inline("a.yaml", definition(group)+instance), RetrySpec: metav1alpha1.RetrySpec{RetryDuration: retry},
			})
		Eventually(status(ctx, component)).WithTimeout(soon).
			Should(And(ContainSubstring("tugs."+group+` "a" is forbidden`), ContainSubstring("allow list and watch")))
		allow(ctx, group, "get", "list", "watch", "create", "update", "patch", "delete")
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Expect(administrator.Delete(ctx, component)).To(Succeed())
		Eventually(readError(ctx, component)).WithTimeout(soon).Should(Satisfy(apierrors.IsNotFound))
	}, SpecTimeout(2*time.Minute))
})
