package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("The last hooks of a pass:", func() {
	It("several hooks of a kind are called in order, and a hook that fails ends the sequence", func(ctx SpecContext) {
		operator, d, broken := newOperatorName(), &diary{}, &atomic.Bool{}
		broken.Store(true)
		step := func(name string, fails bool) gadgetHooks {
			return gadgetHooks{PreReconcile: func(context.Context, *gadget.Gadget, component.DependentReader) error {
				d.note(name)
				if fails && broken.Load() {
					return errors.New("not yet")
				}
				return nil
			}}
		}
		runOperator(operator, operatorOptions{
			hooks: step("first", false),
			built: func(r *component.Reconciler[*gadget.Gadget]) {
				r.WithHooks(step("second", true)).WithHooks(step("third", false))
			},
		})
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "False Retrying: hook PreReconcile: not yet")
		Expect(d.read()[:2]).To(Equal([]string{"first", "second"}))
		Expect(d.read()).NotTo(ContainElement("third"))
		broken.Store(false)
		expectReady(ctx, g)
		Expect(d.read()).To(ContainElement("third"))
	})

	It("a hook gets the failure of a pass, and stores it in the author's part of the status", func(ctx SpecContext) {
		operator, namespace := newOperatorName(), newNamespace(ctx)
		var reconciler *component.Reconciler[*gadget.Gadget]
		var failure atomic.Pointer[component.PassError]
		runOperator(operator, operatorOptions{
			built: func(r *component.Reconciler[*gadget.Gadget]) { reconciler = r },
			hooks: gadgetHooks{
				PreDelete: func(context.Context, *gadget.Gadget, component.DependentReader) error {
					return errors.New("the backup is not finished")
				},
				PostFailure: func(ctx context.Context, g *gadget.Gadget, _ component.DependentReader,
					f *component.PassError,
				) error {
					failure.Store(f)
					return reconciler.UpdateStatus(ctx, g, func(g *gadget.Gadget) error {
						g.Status.Port = len(f.Reason)
						return nil
					})
				},
			},
		})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		hasFailed := failure.Load() != nil
		Expect(hasFailed).To(BeFalse(), "no pass has failed")
		Expect(current(ctx, g).Status.Port).To(BeZero())

		By("failing because the generator fails")
		changeManifests(ctx, g, "no manifest")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "True GenerateFailed")
		Expect(failure.Load().Reason).To(Equal(metav1alpha1.ReasonGenerateFailed))
		Expect(failure.Load().Terminal).To(BeTrue())
		Expect(failure.Load().Cause).To(HaveOccurred())
		Expect(current(ctx, g).Status.Port).To(Equal(len(metav1alpha1.ReasonGenerateFailed)))

		By("failing because the API server refuses a dependent")
		changeManifests(ctx, g, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {value: [1]}")
		Eventually(ctx, func() string { return failure.Load().Reason }).Should(Equal(metav1alpha1.ReasonInvalidManifests))
		Expect(failure.Load().Message).To(ContainSubstring("ConfigMap"))

		By("failing in a deletion")
		remove(ctx, g)
		Eventually(ctx, func() string { return failure.Load().Message }).
			Should(ContainSubstring("the backup is not finished"))
		patch(ctx, current(ctx, g), `{"metadata":{"finalizers":null}}`)
		expectNotFound(ctx, g)
	})

	It("a hook maintains the author's status from partial results, and costs no request if "+
		"nothing changes", func(ctx SpecContext) {
		operator, namespace := newOperatorName(), newNamespace(ctx)
		var reconciler *component.Reconciler[*gadget.Gadget]
		d := &diary{}
		runOperator(operator, operatorOptions{
			built: func(r *component.Reconciler[*gadget.Gadget]) { reconciler = r },
			hooks: gadgetHooks{
				PostReconcile: func(context.Context, *gadget.Gadget, component.DependentReader) error {
					d.note("PostReconcile")
					return nil
				},
				PostPass: func(ctx context.Context, g *gadget.Gadget, _ component.DependentReader, r component.PassResult) error {
					d.note(fmt.Sprintf("%d of %d, failed %t", r.Outcome.Ready, r.Outcome.Desired, r.Failure != nil))
					return reconciler.UpdateStatus(ctx, g, func(g *gadget.Gadget) error {
						g.Status.Port = 100 + r.Outcome.Ready
						return nil
					})
				},
			},
		})
		claim := "apiVersion: v1\nkind: Pod\nmetadata: {name: slow}\n" +
			"spec: {nodeName: nowhere, terminationGracePeriodSeconds: 0, containers: [{name: a, image: a}]}"
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), claim), servedBy(operator))
		Eventually(ctx, func() int { return current(ctx, g).Status.Port }).Should(Equal(101))
		Expect(d.read()).To(ContainElement("1 of 2, failed false"))
		Expect(d.read()).NotTo(ContainElement("PostReconcile"))

		By("repeating a pass without a write")
		settle(ctx, operator)
		mark := markAudit(ctx)
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(verbs(requestsSince(ctx, mark, operator).Writes())).To(BeEmpty())

		By("reporting the result after the hook PostReconcile")
		changeManifests(ctx, g, configMap("settings", "a"))
		expectReady(ctx, g)
		entries := d.read()
		Expect(entries[len(entries)-2:]).To(Equal([]string{"PostReconcile", "1 of 1, failed false"}))
	})
})
