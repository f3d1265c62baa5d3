package main

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

var _ = Describe("The policies of a component", func() {
	It("determine how its dependents are adopted, updated and deleted, and make no revision", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		inner := namespace + "-inner"
		existing := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "existing"}}
		Expect(administrator.Create(ctx, existing)).To(Succeed())
		component := createComponent(ctx, namespace, "shop", v1alpha1.ComponentSpec{
			Source: inline("a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: existing}, data: {a: x}}\n---\n"+
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: away, namespace: "+inner+"}}"),
			PoliciesSpec: metav1alpha1.PoliciesSpec{
				AdoptionPolicy: metav1alpha1.AdoptNever, UpdatePolicy: metav1alpha1.UpdateReplace,
				DeletePolicy:            metav1alpha1.DeleteOrphan,
				MissingNamespacesPolicy: metav1alpha1.MissingNamespacesRefuse,
			},
		})
		Eventually(status(ctx, component)).WithTimeout(soon).
			Should(And(HavePrefix("Stalled OwnershipConflict: "), ContainSubstring(namespace+"/existing")))
		change(ctx, component, func(s *v1alpha1.ComponentSpec) { s.AdoptionPolicy = metav1alpha1.AdoptAlways })
		Eventually(status(ctx, component)).WithTimeout(soon).
			Should(And(HavePrefix("Progressing Retrying: "), ContainSubstring("namespace "+inner+" does not exist")))
		change(ctx, component,
			func(s *v1alpha1.ComponentSpec) { s.MissingNamespacesPolicy = metav1alpha1.MissingNamespacesCreate })
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Expect(administrator.Get(ctx, client.ObjectKeyFromObject(component), component)).To(Succeed())
		Expect(component.Status.Revision).To(BeEquivalentTo(1))
		Expect(administrator.Get(ctx, client.ObjectKeyFromObject(existing), existing)).To(Succeed())
		Expect(existing.ManagedFields).To(ContainElement(And(
			HaveField("Manager", "fairlead.io"), HaveField("Operation", metav1.ManagedFieldsOperationUpdate))))

		By("leaving an existing object as it is with the reconcile policy create-only")
		change(ctx, component, func(s *v1alpha1.ComponentSpec) {
			s.ReconcilePolicy, s.ReapplyInterval = metav1alpha1.ReconcileCreateOnly, &metav1.Duration{Duration: time.Hour}
		})
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Expect(administrator.Get(ctx, client.ObjectKeyFromObject(component), component)).To(Succeed())
		Expect(component.Status.Revision).To(BeEquivalentTo(1))
		change(ctx, component, func(s *v1alpha1.ComponentSpec) {
			s.Source = inline("a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: existing}, data: {a: y}}")
		})
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Expect(administrator.Get(ctx, client.ObjectKeyFromObject(existing), existing)).To(Succeed())
		Expect(existing.Data).To(Equal(map[string]string{"a": "x"}))

		By("pruning all dependents if the component allows this")
		change(ctx, component, func(s *v1alpha1.ComponentSpec) { s.Source = inline("a.yaml", "# nothing") })
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Stalled InvalidManifests: "))
		change(ctx, component, func(s *v1alpha1.ComponentSpec) { s.EmptyAllowed = true })
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Expect(administrator.Delete(ctx, component)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(administrator.Get(ctx, client.ObjectKeyFromObject(component), component))
		}).WithTimeout(soon).Should(BeTrue())
		Expect(administrator.Get(ctx, client.ObjectKeyFromObject(existing), existing)).To(Succeed())
		Expect(existing.Labels).To(BeEmpty())
		Expect(existing.Data).To(Equal(map[string]string{"a": "x"}))
	}, SpecTimeout(time.Minute))
})
