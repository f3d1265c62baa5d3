package conformance_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("The status of a component:", func() {
	type reconciler = *component.Reconciler[*gadget.Gadget]

	// meddle makes an edit of a gadget again and again until stop is called, and counts the successful edits.
	meddle := func(ctx context.Context, g *gadget.Gadget,
		edit func(context.Context, *gadget.Gadget) error,
	) (edits *atomic.Int64, stop func()) {
		var wg sync.WaitGroup
		name, ended := client.ObjectKeyFromObject(g), &atomic.Bool{}
		edits = &atomic.Int64{}
		wg.Go(func() {
			for !ended.Load() && ctx.Err() == nil {
				fresh := &gadget.Gadget{}
				if k8s.Get(ctx, name, fresh) == nil && edit(ctx, fresh) == nil {
					edits.Add(1)
				}
			}
		})
		return edits, func() { ended.Store(true); wg.Wait() }
	}

	It("after many edits of the spec the last edit is applied", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMaps("cm", 3, "start"))
		for i := range 25 {
			changeManifests(ctx, g, configMaps("cm", 1+i%4, fmt.Sprint("edit-", i)))
		}
		Expect(g.Generation).To(Equal(int64(26)))
		Eventually(ctx, func(a Gomega) {
			status := current(ctx, g).Status
			a.Expect(status.ObservedGeneration).To(Equal(g.Generation))
			a.Expect(status.State).To(Equal(metav1alpha1.StateReady))
		}).Should(Succeed())
		Expect(countConfigMaps(ctx, namespace)).To(Equal(1))
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "cm-0").Object["data"]).To(HaveKeyWithValue("value", "edit-24"))
	})

	It("the status and the dependents are written while another client writes to the component "+
		"all the time", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMaps("cm", 3, "a"))
		ports, stopStatus := meddle(ctx, g, func(ctx context.Context, g *gadget.Gadget) error {
			g.Status.Port++
			return k8s.Status().Update(ctx, g)
		})
		notes, stopMetadata := meddle(ctx, g, func(ctx context.Context, g *gadget.Gadget) error {
			text := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/note":"%d"}}}`, sequence.Add(1))
			return k8s.Patch(ctx, g, client.RawPatch("application/merge-patch+json", []byte(text)))
		})
		expectReady(ctx, g)
		value := ""
		for i := 0; i < 5 || min(ports.Load(), notes.Load()) < 10; i++ {
			value = fmt.Sprint("b", i)
			changeManifests(ctx, g, configMaps("cm", 3, value))
			expectReady(ctx, g)
		}
		stopStatus()
		stopMetadata()
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "cm-0").Object["data"]).To(HaveKeyWithValue("value", value))
		Expect(current(ctx, g).Status.Port).To(BeEquivalentTo(ports.Load()), "the operator undid a write of the other client")
	})

	It("a component is deleted while another client writes to it all the time", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMaps("cm", 3, "a"))
		expectReady(ctx, g)
		_, stop := meddle(ctx, g, func(ctx context.Context, g *gadget.Gadget) error {
			g.Status.Port++
			return k8s.Status().Update(ctx, g)
		})
		remove(ctx, g)
		expectNotFound(ctx, g)
		stop()
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("conditions that an author adds to the status are kept", func(ctx SpecContext) {
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"))
		expectReady(ctx, g)
		fresh := current(ctx, g)
		meta.SetStatusCondition(&fresh.Status.Conditions, metav1.Condition{
			Type: "Licensed", Status: metav1.ConditionTrue,
			Reason: "Paid",
		})
		Expect(k8s.Status().Update(ctx, fresh)).To(Succeed())
		changeManifests(ctx, g, configMap("settings", "b"))
		expectReady(ctx, g)
		Expect(meta.FindStatusCondition(current(ctx, g).Status.Conditions, "Licensed")).NotTo(BeNil())
	})

	It("a pass reads the status that the previous pass wrote, although the cache is late", func(ctx SpecContext) {
		operator, late := newOperatorName(), &lag{path: "/gadgets"}
		DeferCleanup(late.release)
		passes, allocations := &atomic.Int64{}, &atomic.Int64{}
		var r reconciler
		runOperator(operator, operatorOptions{
			transport: late.wrap,
			built:     func(built reconciler) { r = built },
			hooks: gadgetHooks{PreReconcile: func(ctx context.Context, g *gadget.Gadget, _ component.DependentReader) error {
				if passes.Add(1) == 1 {
					late.hold()
				}
				if g.Status.Port > 0 {
					return nil
				}
				return r.UpdateStatus(ctx, g, func(g *gadget.Gadget) error {
					if g.Status.Port == 0 {
						g.Status.Port = 4000 + int(allocations.Add(1))
					}
					return nil
				})
			}},
		})
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		for range 5 {
			had := passes.Load()
			r.Trigger(client.ObjectKeyFromObject(g))
			Eventually(ctx, passes.Load).Should(BeNumerically(">", had))
		}
		settle(ctx, operator)
		Expect(allocations.Load()).To(Equal(int64(1)))
		Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty())
		late.release()
		settle(ctx, operator)
		Expect(current(ctx, g).Status.Port).To(Equal(4001))
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))
		Expect(allocations.Load()).To(Equal(int64(1)))
	})

	It("an update of the status by Reconciler.UpdateStatus is repeated after a conflict, "+
		"and never lost", func(ctx SpecContext) {
		const writers, each = 4, 10
		operator := newOperatorName()
		var r reconciler
		runOperator(operator, operatorOptions{built: func(built reconciler) { r = built }})
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				defer GinkgoRecover()
				for range each {
					seen := &gadget.Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"}}
					Expect(r.UpdateStatus(ctx, seen, func(g *gadget.Gadget) error {
						g.Status.Port++
						g.Status.Revision = 99 // The operator owns this field, so the update must not change it.
						return nil
					})).To(Succeed())
					Expect(seen.Status.Port).To(BeNumerically(">", 0))
				}
			})
		}
		for i := range 5 {
			changeManifests(ctx, g, configMap("settings", fmt.Sprint("b", i)))
		}
		wg.Wait()
		expectReady(ctx, g)
		Eventually(ctx, func() int { return current(ctx, g).Status.Port }).Should(Equal(writers * each))
		Expect(current(ctx, g).Status.Revision).To(BeNumerically("<=", 6))

		By("updating the status without a change, which sends no request")
		settle(ctx, operator)
		mark := markAudit(ctx)
		Expect(r.UpdateStatus(ctx, current(ctx, g), func(*gadget.Gadget) error { return nil })).To(Succeed())
		Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty())
	})
})
