package main

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
)

var _ = Describe("The operator under its own identity", func() {
	It("brings the samples to Ready, and deletes them", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		samples, err := config.Objects("samples")
		Expect(err).NotTo(HaveOccurred())
		var components []*v1alpha1.Component
		for _, object := range samples {
			object.SetNamespace(namespace)
			Expect(administrator.Create(ctx, object)).To(Succeed())
			if object.GetKind() == "Component" && object.GetName() != "externals-sample" {
				// The sample of externals needs a service that does not exist here.
				component := &v1alpha1.Component{}
				component.Namespace, component.Name = namespace, object.GetName()
				components = append(components, component)
			}
		}
		Expect(components).To(HaveLen(5))
		for _, component := range components {
			Eventually(status(ctx, component)).WithTimeout(30*time.Second).Should(HavePrefix("Ready Ready: "), component.Name)
		}
		for _, component := range components {
			Expect(administrator.Delete(ctx, component)).To(Succeed())
		}
		for _, component := range components {
			Eventually(func() error {
				return administrator.Get(ctx, client.ObjectKeyFromObject(component), component)
			}).WithTimeout(30*time.Second).Should(Satisfy(apierrors.IsNotFound), component.Name)
		}
		definition := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1",
			"kind":       "CustomResourceDefinition",
		}}
		Expect(administrator.Get(ctx, client.ObjectKey{Name: "berths.samples.fairlead.io"}, definition)).
			To(Satisfy(apierrors.IsNotFound))
	}, SpecTimeout(2*time.Minute))
})
