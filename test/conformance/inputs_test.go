package conformance_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// copyReferences renders the manifests, and a ConfigMap with all values of all references.
var copyReferences = generator.GeneratorFunc(func(ctx context.Context, req generator.Request) ([]client.Object, error) {
	objects, err := gadget.Generate(ctx, req)
	if err != nil {
		return nil, err
	}
	data := map[string]any{}
	for ref, values := range req.References {
		for key, value := range values {
			data[string(ref.Kind)+"-"+ref.Name+"-"+key] = string(value)
		}
	}
	copied := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "copy"}, "data": data,
	}}
	return append(objects, copied), nil
})

var _ = Describe("Inputs of a component:", func() {
	var namespace, operator string
	copied := func(ctx context.Context) any {
		o, err := get(ctx, "v1", "ConfigMap", namespace, "copy")
		if err != nil {
			return err
		}
		return o.Object["data"]
	}
	references := func(refs ...metav1alpha1.Reference) func(*gadget.Gadget) {
		return func(g *gadget.Gadget) { g.Spec.References = refs }
	}
	BeforeEach(func(ctx SpecContext) {
		namespace, operator = newNamespace(ctx), newOperatorName()
	})

	Describe("References of a component:", func() {
		BeforeEach(func() {
			runOperator(operator, operatorOptions{generate: copyReferences})
		})

		It("a changed reference renders the component again, and the status shows no secret", func(ctx SpecContext) {
			create(ctx, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: %s}\nstringData: {k: hush-1}",
				namespace))
			create(ctx, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: %s}\ndata: {k: one}",
				namespace))
			g := newGadget(ctx, namespace, "app", "", servedBy(operator), references(
				metav1alpha1.Reference{Kind: "Secret", Name: "s"}, metav1alpha1.Reference{Kind: "ConfigMap", Name: "c"}))
			expectReady(ctx, g)
			Expect(copied(ctx)).To(Equal(map[string]any{"Secret-s-k": "hush-1", "ConfigMap-c-k": "one"}))
			Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))

			patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "c"), `{"data":{"k":"two"}}`)
			Eventually(ctx, func() any { return copied(ctx) }).Should(HaveKeyWithValue("ConfigMap-c-k", "two"))
			patch(ctx, mustGet(ctx, "v1", "Secret", namespace, "s"), `{"stringData":{"k":"hush-2"}}`)
			Eventually(ctx, func() any { return copied(ctx) }).Should(HaveKeyWithValue("Secret-s-k", "hush-2"))
			Eventually(ctx, func() int64 { return current(ctx, g).Status.Revision }).Should(Equal(int64(3)))

			By("keeping the revision when only metadata of the referenced objects change")
			settle(ctx, operator)
			mark := markAudit(ctx)
			patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "c"), `{"metadata":{"labels":{"a":"b"}}}`)
			settle(ctx, operator)
			Expect(current(ctx, g).Status.Revision).To(Equal(int64(3)))
			Expect(verbs(requestsSince(ctx, mark, operator).Writes())).To(BeEmpty())
			Expect(fmt.Sprint(current(ctx, g).Status)).NotTo(ContainSubstring("hush"))
			events := &corev1.EventList{}
			Expect(k8s.List(ctx, events, client.InNamespace(namespace))).To(Succeed())
			Expect(fmt.Sprint(events.Items)).NotTo(ContainSubstring("hush"))
		})

		It("a missing reference stalls the component, and the component continues when the "+
			"reference is created", func(ctx SpecContext) {
			g := newGadget(ctx, namespace, "app", "", servedBy(operator), references(
				metav1alpha1.Reference{Kind: "Secret", Name: "needed"}, metav1alpha1.Reference{
					Kind: "Secret", Name: "wanted",
					Optional: true,
				},
				metav1alpha1.Reference{Kind: "ConfigMap", Name: "also"}))
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
				HavePrefix("True ReferenceNotFound"), ContainSubstring("Secret "+namespace+"/needed"),
				ContainSubstring("ConfigMap "+namespace+"/also"),
				Not(ContainSubstring("wanted"))))
			for _, kind := range []string{"Secret\nmetadata: {name: needed,", "ConfigMap\nmetadata: {name: also,"} {
				create(ctx, "apiVersion: v1\nkind: "+kind+" namespace: "+namespace+"}")
			}
			expectReady(ctx, g)
			create(ctx, "apiVersion: v1\nkind: Secret\nmetadata: {name: wanted, namespace: "+namespace+"}\nstringData: {k: v}")
			Eventually(ctx, func() any { return copied(ctx) }).Should(HaveKeyWithValue("Secret-wanted-k", "v"))
		})

		It("a reference can be a dependent of the same component", func(ctx SpecContext) {
			g := newGadget(ctx, namespace, "app", configMap("c", "one"), servedBy(operator), references(
				metav1alpha1.Reference{Kind: "ConfigMap", Name: "c", Optional: true}))
			expectReady(ctx, g)
			Eventually(ctx, func() any { return copied(ctx) }).Should(HaveKeyWithValue("ConfigMap-c-value", "one"))
			settle(ctx, operator)
		})
	})

	DescribeTable("dependents of a component without a rendering are counted, and repaired while the last rendering "+
		"is in memory",
		func(ctx SpecContext, generate generator.Generator, lose, restore func(context.Context, *gadget.Gadget), want string,
			isCounted bool,
		) {
			var stop func()
			start := func() { stop = runOperator(operator, operatorOptions{generate: generate}) }
			start()
			create(ctx, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: source, namespace: %s}\ndata: {k: one}",
				namespace))
			g := newGadget(ctx, namespace, "app", configMap("kept", "x"), servedBy(operator), references(
				metav1alpha1.Reference{Kind: "ConfigMap", Name: "source"}))
			expectReady(ctx, g)
			settle(ctx, operator)
			lose(ctx, g)
			ready := func() string { return current(ctx, g).Status.Dependents.Summary }
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, HavePrefix(want))
			Expect(ready()).To(Equal("2/2"))
			settle(ctx, operator)
			history := current(ctx, g).Status.History

			By("repairing from the rendering in memory")
			uid := mustGet(ctx, "v1", "ConfigMap", namespace, "kept").GetUID()
			remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "kept"))
			Eventually(ctx, func() types.UID {
				if o, err := get(ctx, "v1", "ConfigMap", namespace, "kept"); err == nil {
					return o.GetUID()
				}
				return uid
			}).ShouldNot(Equal(uid))
			settle(ctx, operator)
			Expect(ready()).To(Equal("2/2"))
			Expect(condition(current(ctx, g), metav1alpha1.ConditionStalled)).To(HavePrefix(want))
			Expect(condition(current(ctx, g), metav1alpha1.ConditionStalled)).NotTo(ContainSubstring("in memory"))

			By("counting after a restart")
			stop()
			start()
			settle(ctx, operator)
			remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "kept"))
			if isCounted {
				Eventually(ctx, ready).Should(Equal("1/2"))
				expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix(want), ContainSubstring(
					"; 1 of 2 dependents are ready; a repair of the others needs these inputs, because the last rendering is "+
						"not in memory: "+
						"ConfigMap "+namespace+"/kept (it was deleted, or it lost its owner label)")))
				Expect(current(ctx, g).Status.Waiting).To(HaveLen(1))
			}
			settle(ctx, operator)
			Expect(configMapExists(ctx, namespace, "kept")).To(BeFalse())
			Expect(current(ctx, g).Status.History).To(Equal(history))
			mark := markAudit(ctx)
			settle(ctx, operator)
			Expect(requestsSince(ctx, mark, operator)).To(BeEmpty())

			restore(ctx, g)
			expectReady(ctx, g)
			Expect(ready()).To(Equal("2/2"))
			Expect(configMapExists(ctx, namespace, "kept")).To(BeTrue())
		},
		Entry("its source was deleted", copyReferences, func(ctx context.Context, _ *gadget.Gadget) {
			remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "source"))
		}, func(ctx context.Context, _ *gadget.Gadget) {
			create(ctx, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: source, namespace: %s}\ndata: {k: one}",
				namespace))
		}, "True ReferenceNotFound", true),
		Entry("its new inputs cannot be rendered", copyReferences, func(ctx context.Context, g *gadget.Gadget) {
			changeManifests(ctx, g, "{")
		}, func(ctx context.Context, g *gadget.Gadget) {
			changeManifests(ctx, g, configMap("kept", "x"))
		}, "True GenerateFailed", true),
		Entry("its new manifests are invalid", copyReferences, func(ctx context.Context, g *gadget.Gadget) {
			changeManifests(ctx, g, configMap("kept", "x", settingOf(operator, "order", "none")))
		}, func(ctx context.Context, g *gadget.Gadget) {
			changeManifests(ctx, g, configMap("kept", "x"))
		}, "True InvalidManifests", true),
		Entry("its new target namespace is refused", copyReferences, func(ctx context.Context, g *gadget.Gadget) {
			change(ctx, g, func(g *gadget.Gadget) { g.Spec.TargetNamespace = "default" })
		}, func(ctx context.Context, g *gadget.Gadget) {
			change(ctx, g, func(g *gadget.Gadget) { g.Spec.TargetNamespace = "" })
		}, "True InvalidSpec: target ", true),
		Entry("its new spec is refused by its author", copyReferences, func(ctx context.Context, g *gadget.Gadget) {
			change(ctx, g, func(g *gadget.Gadget) { g.Spec.Parameters = map[string]string{gadget.Refused: "no such size"} })
		}, func(ctx context.Context, g *gadget.Gadget) {
			change(ctx, g, func(g *gadget.Gadget) { g.Spec.Parameters = nil })
		}, "True InvalidSpec: no such size", false), // A refused spec may not choose who reads.
	)

	DescribeTable("a component whose renderings change their own input: renderings get rare, and dependents are repaired",
		func(ctx SpecContext, edit func(*gadget.Gadget), withRelated bool) {
			var renderings atomic.Int64
			related := eventsource.Related("fed", configMapOptions{
				Of: toShared(namespace), Selector: labels.Everything(), Part: contentOf, Whole: true,
			})
			// Each rendering writes a text that depends on what it reads into the objects that it reads.
			generate := generator.GeneratorFunc(func(_ context.Context, req generator.Request) ([]client.Object, error) {
				renderings.Add(1)
				text, err := digests.Of([]any{fmt.Sprint(req.References), req.Inputs})
				object := func(kind, name, field string) client.Object {
					return &unstructured.Unstructured{Object: map[string]any{
						"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name}, field: map[string]any{"text": text},
					}}
				}
				return []client.Object{
					object("ConfigMap", "shared", "data"), object("Secret", "fed", "stringData"), object("ConfigMap", "other", "data"),
				}, err
			})
			options := operatorOptions{generate: generate}
			if withRelated {
				options.built = withSources(eventsource.AsInput(related))
			}
			runOperator(operator, options)
			g := newGadget(ctx, namespace, "app", "", servedBy(operator), edit)
			expectCondition(ctx, g, metav1alpha1.ConditionReady, And(
				HavePrefix("False InputFeedback"), ContainSubstring("an input and a dependent of this component"),
				ContainSubstring("rendered 5 times since the other inputs changed"),
				ContainSubstring("take the input from an object")))
			Expect(current(ctx, g).Status.Revision).To(Equal(int64(7)))
			settle(ctx, operator)
			before := renderings.Load()
			remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "other"))
			Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "other") }).Should(BeTrue())
			settle(ctx, operator)
			Expect(renderings.Load()).To(Equal(before), "a repair renders")
			Expect(condition(current(ctx, g), metav1alpha1.ConditionReady)).To(HavePrefix("False InputFeedback"))

			By("counting from the start after another input changed")
			changeManifests(ctx, g, configMap("more", "x"))
			Eventually(ctx, func() int64 { return current(ctx, g).Status.Revision }).Should(Equal(int64(13)))
			expectCondition(ctx, g, metav1alpha1.ConditionReady, HavePrefix("False InputFeedback"))
		},
		Entry("values from a ConfigMap", references(metav1alpha1.Reference{
			Kind: "ConfigMap", Name: "shared",
			Optional: true,
		}), false),
		Entry("values from a Secret", references(metav1alpha1.Reference{Kind: "Secret", Name: "fed", Optional: true}), false),
		Entry("a related object", func(*gadget.Gadget) {}, true),
	)

	It("two components that change each other's inputs are rendered less often after some time, and the "+
		"condition says so", func(ctx SpecContext) {
		// Each rendering writes a text that depends on what it reads into the object that the other component reads.
		generate := generator.GeneratorFunc(func(_ context.Context, req generator.Request) ([]client.Object, error) {
			text, err := digests.Of([]any{fmt.Sprint(req.References), req.Parameters})
			return []client.Object{&unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": req.Name},
				"data": map[string]any{"text": text},
			}}}, err
		})
		runOperator(operator, operatorOptions{generate: generate})
		reads := func(name string) func(*gadget.Gadget) {
			return references(metav1alpha1.Reference{Kind: "ConfigMap", Name: name, Optional: true})
		}
		a := newGadget(ctx, namespace, "a", "", servedBy(operator), reads("b"))
		b := newGadget(ctx, namespace, "b", "", servedBy(operator), reads("a"))
		Eventually(ctx, func() []string {
			return []string{
				condition(current(ctx, a), metav1alpha1.ConditionReady),
				condition(current(ctx, b), metav1alpha1.ConditionReady),
			}
		}).Should(ContainElement(And(HavePrefix("False InputFeedback"),
			ContainSubstring("the inputs changed 60 times within 1m0s"))))

		By("rendering changed specs at once")
		for _, g := range []*gadget.Gadget{a, b} {
			change(ctx, g, func(g *gadget.Gadget) { g.Spec.References = nil })
			expectReady(ctx, g)
		}
	})

	It("changes of a component's inputs have no effect while the component is suspended", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend, g.Spec.Manifests = true, configMap("settings", "b") })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")
		settle(ctx, operator)
		mark := markAudit(ctx)
		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"))
		settle(ctx, operator)
		Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty())
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = false })
		expectReady(ctx, g)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"]).To(HaveKeyWithValue("value", "b"))
	})

	It("a change of a component's inputs restarts the timeout of the stalled component", func(ctx SpecContext) {
		g := newGadget(ctx, namespace, "app", heldDeployment("web"), func(g *gadget.Gadget) { g.Spec.Timeout = seconds(1) })
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True Timeout"), ContainSubstring("not ready within 1s"), ContainSubstring("web")))
		change(ctx, g, func(g *gadget.Gadget) {
			g.Spec.Timeout, g.Spec.Manifests = seconds(60), heldDeployment("web")+"\n  revisionHistoryLimit: 3"
		})
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling, "True DependentsNotReady")
		Expect(condition(current(ctx, g), metav1alpha1.ConditionStalled)).To(BeEmpty())
		changeManifests(ctx, g, deployment("web"))
		expectReady(ctx, g)
	})

	It("the condition Ready of a component is never True for an older generation", func(ctx SpecContext) {
		g := newGadget(ctx, namespace, "app", deployment("web"))
		expectReady(ctx, g)
		for i := range 3 {
			changeManifests(ctx, g, together(deployment("web")+fmt.Sprintf("\n  revisionHistoryLimit: %d", i+3),
				configMap("later", fmt.Sprint(i), order(1))))
			Eventually(ctx, func(a Gomega) {
				now := current(ctx, g)
				if condition(now, metav1alpha1.ConditionReady) != "" &&
					strings.HasPrefix(condition(now, metav1alpha1.ConditionReady), "True") {
					later := mustGet(ctx, "v1", "ConfigMap", namespace, "later")
					Expect(later.Object["data"]).To(HaveKeyWithValue("value", fmt.Sprint(i)))
				}
				a.Expect(condition(now, metav1alpha1.ConditionReady)).To(HavePrefix("True"))
			}).WithPolling(5 * time.Millisecond).Should(Succeed())
		}
	})

	It("each change of a component's inputs causes one pass with one event", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(configMaps("cm", 10, "a"),
			configMap("later", "a", fmt.Sprintf("%s/order: %q", operator, "1"))), servedBy(operator))
		expectReady(ctx, g)
		notes := func() []string {
			events := &corev1.EventList{}
			Expect(k8s.List(ctx, events, client.InNamespace(namespace))).To(Succeed())
			var texts []string
			for _, e := range events.Items {
				texts = append(texts, e.Type+" "+e.Reason+" "+e.Message)
			}
			return texts
		}
		Eventually(ctx, notes).Should(HaveLen(1))
		Expect(notes()[0]).To(HavePrefix("Normal Ready create 10 in wave 0, create 1 in wave 1"))
	})

	It("an additional watch of the author starts passes, unless its predicate excludes the event", func(ctx SpecContext) {
		requests := make(chan event.TypedGenericEvent[client.Object], 1)
		target := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: "app"}}
		toApp := func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{target} }
		named := func(name string) predicate.Predicate {
			return predicate.NewPredicateFuncs(func(o client.Object) bool {
				return o.GetNamespace() == namespace &&
					o.GetName() == name
			})
		}
		watching := component.Watching{Watches: []component.Watch{
			{Object: &corev1.ServiceAccount{}, Map: toApp, Predicates: []predicate.Predicate{named("watched")}},
			{Source: source.Channel(requests, handler.EnqueueRequestsFromMapFunc(toApp))},
		}}
		runOperator(operator, operatorOptions{component: component.Options{Watching: watching}})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settleAlone(ctx, operator)
		before := passes(operator)
		create(ctx, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: other, namespace: "+namespace+"}")
		settle(ctx, operator)
		Expect(passes(operator)).To(Equal(before), "a pass was made, although the predicate excludes the event")
		create(ctx, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: watched, namespace: "+namespace+"}")
		Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
		settle(ctx, operator)
		before = passes(operator)
		requests <- event.TypedGenericEvent[client.Object]{Object: g}
		Eventually(ctx, func() int { return passes(operator) }).Should(Equal(before + 1))
	})
})
