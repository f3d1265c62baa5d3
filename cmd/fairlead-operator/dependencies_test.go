package main

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

var _ = Describe("Dependencies between Components", func() {
	It("order new inputs and deletions, and are no input themselves", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		manifest := func(name string) v1alpha1.Source {
			return inline("a.yaml", fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}", name))
		}
		web := createComponent(ctx, namespace, "web", v1alpha1.ComponentSpec{
			Source:         manifest("web"),
			DependencySpec: metav1alpha1.DependencySpec{DependsOn: []metav1alpha1.Dependency{{Name: "db"}}},
		})
		Eventually(status(ctx, web)).WithTimeout(soon).Should(HavePrefix("Progressing DependencyNotReady: "))
		db := createComponent(ctx, namespace, "db", v1alpha1.ComponentSpec{Source: manifest("db")})
		Eventually(status(ctx, web)).WithTimeout(soon).Should(HavePrefix("Ready "))

		Expect(administrator.Delete(ctx, db)).To(Succeed())
		Eventually(status(ctx, db)).WithTimeout(soon).Should(HavePrefix("DeletionBlocked DependedOn: "))
		change(ctx, web, func(s *v1alpha1.ComponentSpec) { s.DependsOn[0].Deletion = metav1alpha1.DependencyIgnored })
		Eventually(func() error { return administrator.Get(ctx, client.ObjectKeyFromObject(db), db) }).WithTimeout(soon).
			Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
		Eventually(status(ctx, web)).WithTimeout(soon).Should(HavePrefix("Ready "))
		change(ctx, web, func(s *v1alpha1.ComponentSpec) {
			s.AllowDependents = []metav1alpha1.Consent{{Namespace: "elsewhere"}}
		})
		Eventually(status(ctx, web)).WithTimeout(soon).Should(HavePrefix("Ready "))
		Expect(administrator.Get(ctx, client.ObjectKeyFromObject(web), web)).To(Succeed())
		Expect(web.Status.Revision).To(Equal(int64(1)), "neither dependsOn nor allowDependents is an input")
	})

	It("are at most 32", func(ctx SpecContext) {
		component := &v1alpha1.Component{
			ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(ctx), Name: "web"},
			Spec:       v1alpha1.ComponentSpec{Source: inline("a.yaml", settings)},
		}
		for i := range 33 {
			component.Spec.DependsOn = append(component.Spec.DependsOn, metav1alpha1.Dependency{Name: fmt.Sprintf("db-%d", i)})
		}
		Expect(administrator.Create(ctx, component)).To(MatchError(apierrors.IsInvalid, "IsInvalid"))
		component.Spec.DependsOn = component.Spec.DependsOn[:32]
		Expect(administrator.Create(ctx, component)).To(Succeed())
	})
})
