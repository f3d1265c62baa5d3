package conformance_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Definitions that are deleted by hand:", func() {
	var namespace, group string
	var g *gadget.Gadget

	// The controller of the type is also a dependent. It has put its finalizer on the instance.
	BeforeEach(func(ctx SpecContext) {
		namespace, group = newNamespace(ctx), newGroup()
		g = newGadget(ctx, namespace, "app", together(widgetDefinition(group), deployment("controller"),
			widget(group, "own")), retrySoon)
		expectReady(ctx, g)
		patch(ctx, mustGet(ctx, group+"/v1", "Widget", namespace, "own"),
			`{"metadata":{"finalizers":["example.com/controller"]}}`)
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
	// release removes the finalizer of the instance, as the controller does after its clean-up. It checks that the
	// controller still runs.
	release := func(ctx context.Context) {
		GinkgoHelper()
		Expect(mustGet(ctx, "apps/v1", "Deployment", namespace, "controller").GetDeletionTimestamp()).To(BeNil())
		patch(ctx, instance(ctx), `{"metadata":{"finalizers":null}}`)
	}

	It("a definition that was deleted by hand is created again with its instances, after the controller of the type "+
		"removed its finalizers from the old instances", func(ctx SpecContext) {
		previous := definition(ctx).GetUID()
		remove(ctx, definition(ctx))
		terminates(ctx)
		release(ctx)
		Eventually(ctx, func(a Gomega) {
			o, err := get(ctx, group+"/v1", "Widget", namespace, "own")
			a.Expect(err).NotTo(HaveOccurred())
			a.Expect(o.GetDeletionTimestamp()).To(BeNil())
		}).Should(Succeed())
		expectReady(ctx, g)
		Expect(definition(ctx).GetUID()).NotTo(Equal(previous))
	})

	It("after a definition was deleted by hand, the deletion of the component keeps the controller of the type until the "+
		"controller has removed its finalizers from the instances", func(ctx SpecContext) {
		remove(ctx, definition(ctx))
		terminates(ctx)
		remove(ctx, g)
		Consistently(ctx, func(a Gomega) {
			a.Expect(mustGet(ctx, "apps/v1", "Deployment", namespace, "controller").GetDeletionTimestamp()).To(BeNil())
		}).WithTimeout(500 * time.Millisecond).Should(Succeed())
		release(ctx)
		expectNotFound(ctx, g)
	})

	It("the deletion of a component continues when a user deletes one of its definitions by "+
		"hand meanwhile", func(ctx SpecContext) {
		remove(ctx, g)
		terminates(ctx)
		remove(ctx, definition(ctx))
		release(ctx)
		expectNotFound(ctx, g)
	})
})
