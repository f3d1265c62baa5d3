package conformance_test

import (
	"context"
	"fmt"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("The author's update of a component:", func() {
	It("a hook fills in a field of the spec, and exactly one pass works for the new spec", func(ctx SpecContext) {
		operator, namespace := newOperatorName(), newNamespace(ctx)
		var reconciler *component.Reconciler[*gadget.Gadget]
		seen := &diary{}
		runOperator(operator, operatorOptions{
			built: func(r *component.Reconciler[*gadget.Gadget]) { reconciler = r },
			hooks: gadgetHooks{
				PreReconcile: func(ctx context.Context, g *gadget.Gadget, _ component.DependentReader) error {
					seen.note(fmt.Sprintf("generation %d: %d bytes", g.Generation, len(g.Spec.Manifests)))
					return reconciler.Update(ctx, g, func(g *gadget.Gadget) error {
						if g.Spec.Manifests == "" {
							g.Spec.Manifests = configMap("settings", "default")
							g.Finalizers = append(g.Finalizers, "example.com/account")
						}
						return nil
					})
				},
				PreDelete: func(ctx context.Context, g *gadget.Gadget, _ component.DependentReader) error {
					return reconciler.Update(ctx, g, func(g *gadget.Gadget) error {
						g.Finalizers = nil
						return nil
					})
				},
			},
		})
		g := newGadget(ctx, namespace, "app", "", servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		stored := current(ctx, g)
		Expect(stored.Generation).To(Equal(int64(2)))
		Expect(stored.Spec.Manifests).To(Equal(configMap("settings", "default")))
		Expect(stored.Finalizers).To(ConsistOf("example.com/account", operator+"/finalizer"))
		Expect(stored.Status.ObservedGeneration).To(Equal(int64(2)))
		Expect(stored.Status.Revision).To(Equal(int64(1)), "the pass with the previous spec must render nothing")
		Expect(seen.read()[:2]).To(Equal([]string{
			"generation 1: 0 bytes",
			fmt.Sprintf("generation 2: %d bytes", len(stored.Spec.Manifests)),
		}))

		By("keeping the reconciler's finalizer although the hook removes all of them")
		patch(ctx, current(ctx, g), `{"metadata":{"finalizers":["`+operator+`/finalizer"]}}`)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(configMapExists(ctx, namespace, "settings")).To(BeFalse())
	})

	It("a pass reads the spec that an update wrote, although the cache is late", func(ctx SpecContext) {
		operator, namespace, late := newOperatorName(), newNamespace(ctx), &lag{path: "/gadgets"}
		DeferCleanup(late.release)
		var reconciler *component.Reconciler[*gadget.Gadget]
		seen, hooks := &diary{}, atomic.Int64{}
		runOperator(operator, operatorOptions{
			transport: late.wrap,
			built:     func(r *component.Reconciler[*gadget.Gadget]) { reconciler = r },
			hooks: gadgetHooks{PreReconcile: func(_ context.Context, g *gadget.Gadget, _ component.DependentReader) error {
				seen.note(fmt.Sprintf("pass %d: generation %d", hooks.Add(1), g.Generation))
				return nil
			}},
		})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		late.hold()
		seen.clear()
		hooks.Store(0)
		for _, values := range [][2]string{{"a", "b"}, {"b", "c"}} {
			Expect(reconciler.Update(ctx, g, func(g *gadget.Gadget) error {
				Expect(g.Spec.Manifests).To(Equal(configMap("settings", values[0])),
					"an older component than the last update wrote")
				g.Spec.Manifests = configMap("settings", values[1])
				return nil
			})).To(Succeed())
			expectReady(ctx, g)
			settle(ctx, operator)
			Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"]).
				To(HaveKeyWithValue("value", values[1]))
		}
		mark := markAudit(ctx)
		reconciler.Trigger(client.ObjectKeyFromObject(g))
		want := []string{"pass 1: generation 2", "pass 2: generation 3", "pass 3: generation 3"}
		Eventually(ctx, seen.read).Should(Equal(want))
		settle(ctx, operator)
		Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty())

		By("starting no pass for the late events of these writes")
		late.release()
		settle(ctx, operator)
		Expect(seen.read()).To(Equal(want))
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(3)))
	})

	It("an update from other code is repeated after conflicts, keeps unknown fields, and "+
		"wakes one pass", func(ctx SpecContext) {
		operator, namespace := newOperatorName(), newNamespace(ctx)
		var reconciler *component.Reconciler[*gadget.Gadget]
		var hooks atomic.Int64
		runOperator(operator, operatorOptions{
			built: func(r *component.Reconciler[*gadget.Gadget]) { reconciler = r },
			hooks: gadgetHooks{PreReconcile: func(context.Context, *gadget.Gadget, component.DependentReader) error {
				hooks.Add(1)
				return nil
			}},
		})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		patch(ctx, current(ctx, g), `{"spec":{"newerField":"kept"}}`)
		expectReady(ctx, g)
		settle(ctx, operator)

		before, stale := hooks.Load(), current(ctx, g)
		patch(ctx, current(ctx, g), `{"metadata":{"labels":{"by":"another"}}}`)
		attempts := 0
		Expect(reconciler.Update(ctx, stale, func(g *gadget.Gadget) error {
			if attempts++; attempts == 1 {
				patch(ctx, current(ctx, g), `{"metadata":{"annotations":{"by":"another"}}}`)
			}
			g.Spec.Manifests = configMap("settings", "b")
			return nil
		})).To(Succeed())
		Expect(stale.Spec.Manifests).To(Equal(configMap("settings", "b")))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(attempts).To(BeNumerically(">=", 2))
		Expect(hooks.Load()-before).To(Equal(int64(1)), "the event of the write must not start a second pass")
		raw := mustGet(ctx, "gadgets.example.com/v1", "Gadget", namespace, "app")
		Expect(raw.Object["spec"]).To(HaveKeyWithValue("newerField", "kept"))
		Expect(raw.GetLabels()).To(HaveKeyWithValue("by", "another"))
		Expect(raw.GetAnnotations()).To(HaveKeyWithValue("by", "another"))
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"]).To(HaveKeyWithValue("value", "b"))

		By("starting no pass for a label, and no request for no change")
		before = hooks.Load()
		mark := markAudit(ctx)
		label := func(g *gadget.Gadget) error {
			g.Labels["tier"] = "web"
			return nil
		}
		Expect(reconciler.Update(ctx, stale, label)).To(Succeed())
		Expect(reconciler.Update(ctx, stale, label)).To(Succeed())
		settle(ctx, operator)
		Expect(hooks.Load()).To(Equal(before))
		Expect(verbs(requestsSince(ctx, mark, operator))).To(Equal([]string{"patch gadgets 200"}))
	})
})
