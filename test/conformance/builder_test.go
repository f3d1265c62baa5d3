package conformance_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("The builder of a controller:", func() {
	It("a watch that the author adds to the builder starts a pass, and the other events still do", func(ctx SpecContext) {
		operator, namespace := newOperatorName(), newNamespace(ctx)
		enqueue := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: "app"}}}
		})
		inNamespace := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetNamespace() == namespace })
		runOperator(operator, operatorOptions{extend: func(b *builder.Builder) *builder.Builder {
			return b.Watches(&corev1.ServiceAccount{}, enqueue, builder.WithPredicates(inNamespace))
		}})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		before := passes(operator)
		create(ctx, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: runner, namespace: "+namespace+"}")
		Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
		changeManifests(ctx, g, configMap("settings", "b"))
		expectReady(ctx, g)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"]).To(HaveKeyWithValue("value", "b"))
	})

	It("a function that returns no builder is an error", func() {
		mgr := newManager(newOperatorName(), operatorOptions{})
		r := component.NewReconciler[*gadget.Gadget](newOperatorName(), gadget.Generate, component.Options{})
		err := r.SetupWithManagerAndBuilder(mgr, func(*builder.Builder) *builder.Builder { return nil })
		Expect(err).To(MatchError(ContainSubstring("returned no builder")))
	})
})
