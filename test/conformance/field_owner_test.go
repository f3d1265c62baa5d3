package conformance_test

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
)

var _ = Describe("Another field owner and finalizer:", func() {
	const owner, finalizer = "shop-writer", "example.com/shop"
	options := func(policy metav1alpha1.UpdatePolicy) component.Options {
		return component.Options{
			Dependents: component.Dependents{Policies: metav1alpha1.Policies{Update: policy}},
			Names: component.Names{
				FieldOwner: owner, Finalizer: finalizer,
				PreviousFieldOwners: []string{"oldest-writer"}, PreviousFinalizers: []string{"example.com/oldest"},
			},
		}
	}
	settings := func(name, data string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: %s", name, data)
	}
	// managers returns the field managers of a ConfigMap, with their operations.
	managers := func(ctx context.Context, namespace, name string) []string {
		GinkgoHelper()
		var names []string
		for _, e := range mustGet(ctx, "v1", "ConfigMap", namespace, name).GetManagedFields() {
			names = append(names, e.Manager+" "+string(e.Operation))
		}
		slices.Sort(names)
		return names
	}
	operation := func(policy metav1alpha1.UpdatePolicy) string {
		if policy == metav1alpha1.UpdateReplace {
			return " Update"
		}
		return " Apply"
	}

	for _, policy := range []metav1alpha1.UpdatePolicy{
		metav1alpha1.UpdateReplace, metav1alpha1.UpdateSSAMerge, metav1alpha1.UpdateSSAOverride,
	} {
		It(fmt.Sprintf("with the update policy %s, fields of a previous field owner are taken over at the next write, and "+
			"no field is lost or doubled", policy), func(ctx SpecContext) {
			namespace, operator := newNamespace(ctx), newOperatorName()
			stop := runOperator(operator, operatorOptions{
				component: component.Options{
					Dependents: component.Dependents{Policies: metav1alpha1.Policies{Update: policy}},
				},
			})
			orphan := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: orphan, annotations: {" + operator +
				"/delete-policy: orphan}}\ndata: {value: a}"
			g := newGadget(ctx, namespace, "app", together(
				settings("changed", "{value: a, dropped: a}"), settings("drifted", "{value: a}"),
				settings("same", "{value: a}"), orphan,
			), servedBy(operator))
			expectReady(ctx, g)
			Expect(managers(ctx, namespace, "changed")).To(Equal([]string{operator + operation(policy)}))
			Expect(current(ctx, g).Finalizers).To(Equal([]string{operator + "/finalizer"}))
			Expect(current(ctx, g).Status.Finalizers).To(BeNil())
			stop()

			By("writing no dependent because of the new names")
			mark := markAudit(ctx)
			runOperator(operator, operatorOptions{component: options(policy)})
			Eventually(ctx, func() []string { return current(ctx, g).Finalizers }).Should(Equal([]string{finalizer}))
			requestPass(ctx, g, operator)
			settle(ctx, operator)
			Expect(current(ctx, g).Status.Finalizers).To(Equal([]string{"example.com/oldest", finalizer}))
			Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Writes().Resource("configmaps"))).
				To(BeEmpty())

			By("repairing a field that another client took from the previous owner")
			Expect(k8s.Patch(ctx, newConfigMap(namespace, "drifted"), client.RawPatch("application/merge-patch+json",
				[]byte(`{"data":{"value":"b"}}`)),
				client.FieldOwner("somebody"))).To(Succeed())
			Eventually(ctx, func() any { return mustGet(ctx, "v1", "ConfigMap", namespace, "drifted").Object["data"] }).
				Should(HaveKeyWithValue("value", "a"))
			settle(ctx, operator)
			Expect(managers(ctx, namespace, "drifted")).To(ContainElement(owner + operation(policy)))
			Expect(managers(ctx, namespace, "drifted")).NotTo(ContainElement(HavePrefix(operator)))

			By("changing and dropping fields")
			changeManifests(ctx, g, together(
				settings("changed", "{value: b}"), settings("drifted", "{value: a}"), settings("same", "{value: a}"), orphan,
			))
			expectReady(ctx, g)
			Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "changed").Object["data"]).To(Equal(map[string]any{"value": "b"}))
			Expect(managers(ctx, namespace, "changed")).To(Equal([]string{owner + operation(policy)}))
			Expect(managers(ctx, namespace, "same")).To(Equal([]string{operator + operation(policy)}))

			By("releasing the fields of an orphan, and deleting the rest")
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(managers(ctx, namespace, "orphan")).To(BeEmpty())
			Expect(countConfigMaps(ctx, namespace)).To(Equal(1))
		})
	}

	It("a crash between the rewrite of the managed fields and the apply loses and "+
		"doubles no field", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", settings("changed", "{value: a, dropped: a}"), servedBy(operator))
		expectReady(ctx, g)
		stop()
		c := &crash{counts: writesTo(namespace, "configmaps"), after: 1}
		stop = runOperator(operator, operatorOptions{component: options(metav1alpha1.UpdateSSAOverride), transport: c.wrap})
		changeManifests(ctx, g, settings("changed", "{value: b}"))
		Eventually(ctx, c.crashed.Load).Should(BeTrue())
		stop()
		Expect(managers(ctx, namespace, "changed")).To(Equal([]string{owner + " Apply"}))
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "changed").Object["data"]).To(HaveKeyWithValue("dropped", "a"))
		runOperator(operator, operatorOptions{component: options(metav1alpha1.UpdateSSAOverride)})
		expectReady(ctx, g)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "changed").Object["data"]).To(Equal(map[string]any{"value": "b"}))
		Expect(managers(ctx, namespace, "changed")).To(Equal([]string{owner + " Apply"}))
	})

	It("a component that was being deleted under a previous finalizer is deleted with "+
		"its dependents", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", settings("settings", "{value: a}"), servedBy(operator))
		expectReady(ctx, g)
		stop()
		remove(ctx, g)
		runOperator(operator, operatorOptions{component: options(metav1alpha1.UpdateSSAOverride)})
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("names that Kubernetes does not accept are refused, all at once", func() {
		mgr := newManager(newOperatorName(), operatorOptions{})
		r := component.NewReconciler[*crate](newOperatorName(), nil, component.Options{
			Names: component.Names{
				FieldOwner: "a\nb", PreviousFieldOwners: []string{""},
				Finalizer: "finalizer", PreviousFinalizers: []string{"example.com/a b"},
			},
		})
		err := r.SetupWithManager(mgr)
		Expect(err).To(MatchError(And(
			ContainSubstring("Options.Names.FieldOwner"), ContainSubstring("PreviousFieldOwners has an empty name"),
			ContainSubstring(`finalizer "finalizer"`), ContainSubstring(`finalizer "example.com/a b"`))))
	})
})
