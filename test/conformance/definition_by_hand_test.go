package conformance_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("A definition that somebody deletes by hand", func() {
	var namespace, group string
	var g *gadget.Gadget

	// The controller of the type is a dependent, too; it put its finalizer on the instance.
	BeforeEach(func(ctx SpecContext) {
		namespace, group = newNamespace(ctx), newGroup()
		g = newGadget(ctx, namespace, "app", together(widgetDefinition(group), deployment("controller"), widget(group, "own")), retrySoon)
		expectReady(ctx, g)
		patch(ctx, mustGet(ctx, group+"/v1", "Widget", namespace, "own"), `{"metadata":{"finalizers":["example.com/controller"]}}`)
	})
	definition := func(ctx context.Context) *unstructured.Unstructured {
		GinkgoHelper()
		return mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)
	}
	instance := func(ctx context.Context) *unstructured.Unstructured {
		GinkgoHelper()
		return mustGet(ctx, group+"/v1", "Widget", namespace, "own")
	}
	terminates := func(ctx context.Context) {
		GinkgoHelper()
		Eventually(func() any { return instance(ctx).GetDeletionTimestamp() }).ShouldNot(BeNil())
	}
	// release does what the controller does when it has cleaned up, which it does only while it runs.
	release := func(ctx context.Context) {
		GinkgoHelper()
		Expect(mustGet(ctx, "apps/v1", "Deployment", namespace, "controller").GetDeletionTimestamp()).To(BeNil())
		patch(ctx, instance(ctx), `{"metadata":{"finalizers":null}}`)
	}

	It("comes back with its instances, once their controller let them go", func(ctx SpecContext) {
		former := definition(ctx).GetUID()
		remove(ctx, definition(ctx))
		terminates(ctx)
		release(ctx)
		Eventually(ctx, func(a Gomega) {
			o, err := get(ctx, group+"/v1", "Widget", namespace, "own")
			a.Expect(err).NotTo(HaveOccurred())
			a.Expect(o.GetDeletionTimestamp()).To(BeNil())
		}).Should(Succeed())
		expectReady(ctx, g)
		Expect(definition(ctx).GetUID()).NotTo(Equal(former))
	})

	It("holds up no deletion: the controller stays until it let the instances go, and then all goes", func(ctx SpecContext) {
		remove(ctx, definition(ctx))
		terminates(ctx)
		remove(ctx, g)
		Consistently(ctx, func(a Gomega) {
			a.Expect(mustGet(ctx, "apps/v1", "Deployment", namespace, "controller").GetDeletionTimestamp()).To(BeNil())
		}).WithTimeout(500 * time.Millisecond).Should(Succeed())
		release(ctx)
		expectGone(ctx, g)
	})

	It("holds up no deletion that is under way, either", func(ctx SpecContext) {
		remove(ctx, g)
		terminates(ctx)
		remove(ctx, definition(ctx))
		release(ctx)
		expectGone(ctx, g)
	})
})
