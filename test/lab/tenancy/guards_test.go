package tenancy_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// definition returns the manifest of a definition of the type Tug in a group.
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

func definitionObject(group string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{
		Group: "apiextensions.k8s.io", Version: "v1",
		Kind: "CustomResourceDefinition",
	})
	object.SetName("tugs." + group)
	return object
}

// grantOnDefinitions grants rights on all definitions to the default service account of a namespace.
func grantOnDefinitions(ctx context.Context, namespace string, verbs ...string) {
	GinkgoHelper()
	Expect(admin.Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: named("", namespace+"-definitions"),
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"apiextensions.k8s.io"},
			Resources: []string{"customresourcedefinitions"}, Verbs: verbs,
		}},
	})).To(Succeed())
	Expect(admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: named("", namespace+"-definitions"),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: namespace + "-definitions"},
		Subjects:   []rbacv1.Subject{accountIn(namespace, account)},
	})).To(Succeed())
}

// allowOperator lets the operator list the instances of the type Tug in a group.
func allowOperator(ctx context.Context, group string) {
	GinkgoHelper()
	Expect(admin.Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: group, Labels: map[string]string{"fairlead.io/aggregate-to-operator": "true"}},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{group}, Resources: []string{"tugs"},
			Verbs: []string{"get", "list", "watch"},
		}},
	})).To(Succeed())
}

// forge adds somebody else's definition to the inventory of a component, as mallory.
func forge(ctx context.Context, c *v1alpha1.Component, definition *unstructured.Unstructured) {
	GinkgoHelper()
	entry := metav1alpha1.InventoryEntry{
		Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition",
		Name: definition.GetName(), UID: definition.GetUID(), Digest: "0",
	}
	Expect(mallory.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
	c.Status.Inventory = append(c.Status.Inventory, entry.String())
	slices.Sort(c.Status.Inventory)
	sum := sha256.Sum256([]byte(format(c.Status.Inventory)))
	c.Status.InventoryDigest = hex.EncodeToString(sum[:])[:16]
	Expect(mallory.Status().Update(ctx, c)).To(Succeed())
}

// expectUsable expects that the definition of a group exists, and that instances can be created.
func expectUsable(ctx context.Context, namespace, group string) {
	GinkgoHelper()
	guards := &admissionregistrationv1.ValidatingAdmissionPolicyList{}
	Expect(admin.List(ctx, guards)).To(Succeed())
	Expect(guards.Items).To(BeEmpty(), "a guard exists")
	found := definitionObject(group)
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(found), found)).To(Succeed())
	Expect(found.GetDeletionTimestamp()).To(BeNil())
	tug := &unstructured.Unstructured{}
	tug.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Tug"})
	tug.SetNamespace(namespace)
	tug.SetGenerateName("theirs-")
	Expect(admin.Create(ctx, tug, client.DryRunAll)).To(Succeed())
}

var _ = Describe("A tenant who deletes components", func() {
	unharmed()

	It("does not freeze or delete somebody else's definition by its name in the status "+
		"of a component", func(ctx SpecContext) {
		const group = "theirs.example.com"
		allowOperator(ctx, group)
		namespace := newTenancy(ctx)
		theirs := definitionObject(group)
		applied := newComponent(good, "definition", map[string]string{"a.yaml": definition(group)})
		grantOnDefinitions(ctx, good, "get", "create", "patch", "delete")
		Expect(admin.Create(ctx, applied)).To(Succeed())
		Eventually(ctx, status(ctx, good, applied.Name)).Should(HavePrefix("Ready Ready: "))
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(theirs), theirs)).To(Succeed())

		Expect(admin.Create(ctx, &rbacv1.ClusterRole{
			ObjectMeta: named("", "forgers"),
			Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{"fairlead.io"}, Resources: []string{"components/status"},
				Verbs: []string{"update"},
			}},
		})).To(Succeed())
		bind(ctx, namespace, "forgers", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: malloryName})
		c := newComponent(namespace, "forged", map[string]string{"a.yaml": metadata})
		attack(ctx, c)
		Eventually(ctx, status(ctx, namespace, c.Name)).Should(HavePrefix("Ready Ready: "))
		operator.expectAlive()
		operator.stop()
		forge(ctx, c, theirs)
		Expect(mallory.Delete(ctx, c)).To(Succeed())
		operator = startOperator(ctx)
		expectGoodServed(ctx)
		Eventually(ctx, isAbsent(ctx, c)).Should(BeTrue())
		expectUsable(ctx, good, group)
	}, SpecTimeout(5*time.Minute))

	It("does not leave a guard behind for a definition that his service account may not delete", func(ctx SpecContext) {
		const group = "kept.example.com"
		allowOperator(ctx, group)
		namespace := newTenancy(ctx)
		grantOnDefinitions(ctx, namespace, "get", "create", "patch")
		c := newComponent(namespace, "definition", map[string]string{"a.yaml": definition(group)})
		attack(ctx, c)
		Eventually(ctx, status(ctx, namespace, c.Name)).Should(HavePrefix("Ready Ready: "))
		Expect(mallory.Delete(ctx, c)).To(Succeed())
		Eventually(ctx, status(ctx, namespace, c.Name)).
			Should(ContainSubstring(`cannot delete resource "customresourcedefinitions"`))

		By("removing the finalizer, as the message says")
		without := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		Expect(mallory.Patch(ctx, c, without)).To(Succeed())
		Eventually(ctx, isAbsent(ctx, c)).Should(BeTrue())
		expectUsable(ctx, namespace, group)
	}, SpecTimeout(5*time.Minute))
})
