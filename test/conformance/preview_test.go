package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/preview"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// previewOf returns a preview with the options of an operator that runOperator runs.
func previewOf(operator string) preview.Preview[*gadget.Gadget] {
	GinkgoHelper()
	return previewWith(operator, component.Options{})
}

// previewWith returns a preview with other options. The default update policy is that of runOperator.
func previewWith(operator string, o component.Options) preview.Preview[*gadget.Gadget] {
	GinkgoHelper()
	o.Dependents.Policies.Update = metav1alpha1.UpdateSSAOverride
	scheme, err := gadget.Scheme()
	Expect(err).NotTo(HaveOccurred())
	config := cluster.Config()
	config.UserAgent = "preview"
	return preview.Preview[*gadget.Gadget]{
		Config: config, Scheme: scheme, Name: operator, Generator: gadget.Generate,
		Options: o,
	}
}

// foresee returns the forecast for other manifests, and proves that the preview makes no writes.
func foresee(ctx context.Context, g *gadget.Gadget, manifests string) (result.Forecast, error) {
	GinkgoHelper()
	changed, ok := g.DeepCopyObject().(*gadget.Gadget)
	Expect(ok).To(BeTrue())
	if changed.Spec.Manifests != manifests {
		changed.Spec.Manifests = manifests
		changed.Generation++
	}
	return previewOf(operatorName).Apply(ctx, changed)
}

// turns returns the writes of a forecast, grouped by turn, in the format of the function tale.
func turns(f result.Forecast) [][]string {
	verbs := map[result.Effect][]string{
		result.EffectCreate: {"create"}, result.EffectUpdate: {"update"}, result.EffectAdopt: {"update"},
		result.EffectRelease:  {"update"},
		result.EffectRecreate: {"delete", "create"}, result.EffectPrune: {"delete"}, result.EffectPurge: {"delete"},
		result.EffectDelete: {"delete"},
	}
	var told [][]string
	last := 0
	for _, s := range f.Steps {
		for i, verb := range verbs[s.Effect] {
			if s.Turn != last || i > 0 {
				told = append(told, nil)
				last = s.Turn
			}
			n := len(told) - 1
			told[n] = append(told[n], fmt.Sprintf("%s %ss/%s", verb, strings.ToLower(s.Key.Kind), s.Key.Name))
		}
	}
	return told
}

// expectTold compares the foreseen writes with the writes that were made. The order within a turn is ignored, and an
// adoption may take several writes.
func expectTold(done []string, foreseen [][]string) {
	GinkgoHelper()
	done = slices.Compact(done)
	var want []string
	for _, turn := range foreseen {
		slices.Sort(turn)
		want = append(want, turn...)
		if from, to := len(want)-len(turn), len(want); to <= len(done) {
			slices.Sort(done[from:to])
		}
	}
	Expect(strings.Join(done, "\n")).To(Equal(strings.Join(want, "\n")))
}

// effects returns the effect on each object, with its name, in order.
func effects(f result.Forecast) []string {
	var found []string
	for _, s := range f.Steps {
		text := fmt.Sprintf("%s %s", s.Effect, s.Key.Name)
		if s.Held {
			text += " (held)"
		}
		found = append(found, text)
	}
	return found
}

// doneTo returns the writes to the objects of a namespace, and to objects elsewhere that a forecast names.
func doneTo(events testcluster.Events, namespace string, f result.Forecast) []string {
	events = slices.Clone(events)
	for i, e := range events {
		if slices.ContainsFunc(f.Steps, func(s result.Step) bool { return s.Key.Name == e.Name }) {
			events[i].Namespace = namespace
		}
	}
	return tale(events, namespace)
}

var _ = Describe("Previews:", func() {
	DescribeTable("the preview shows exactly the writes that the operator makes:", func(ctx SpecContext,
		before, after func(namespace string) string, want ...string,
	) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", before(namespace))
		expectReady(ctx, g)
		settle(ctx, operatorName)

		mark := markAudit(ctx)
		g = current(ctx, g)
		forecast, err := foresee(ctx, g, after(namespace))
		Expect(err).NotTo(HaveOccurred())
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], "<namespace>", namespace)
		}
		Expect(effects(forecast)).To(HaveExactElements(elements(want)...))
		Expect(forecast.Stuck()).To(BeFalse(), "%v", forecast.Waiting)
		Expect(current(ctx, g)).To(Equal(g), "the preview changed the component")

		changeManifests(ctx, g, after(namespace))
		expectReady(ctx, g)
		settle(ctx, operatorName)
		expectTold(doneTo(requestsSince(ctx, mark, operatorName), namespace, forecast), turns(forecast))
	},
		Entry("without a change", always(configMap("a", "1")), always(configMap("a", "1"))),
		Entry("for new dependents, wave by wave", always(configMap("old", "1")), always(together(configMap("old", "1"),
			configMap("first", "1"), configMap("second", "1", order(1)), deployment("web", order(1)),
			configMap("last", "1", order(2)))), "Create first", "Create second", "Create web", "Create last"),
		Entry("for a changed dependent, and for a dependent that is no longer rendered",
			always(together(configMap("a", "1"), configMap("b", "1"), configMap("unrendered", "1"))),
			always(together(configMap("a", "2"), configMap("b", "1"))), "Update a", "Prune unrendered"),
		Entry("for changed settings", always(configMap("a", "1")), always(configMap("a", "1", deletePolicy("orphan"))),
			"Update a"),
		Entry("for a dependent with the update policy recreate", always(configMap("a", "1", updatePolicy("recreate"))),
			always(configMap("a", "2", updatePolicy("recreate"))), "Recreate a"),
		Entry("for a dependent with the update policy replace", always(configMap("a", "1", updatePolicy("replace"))),
			always(configMap("a", "2", updatePolicy("replace"))), "Update a"),
		Entry("for a dependent with the reconcile policy once",
			always(configMap("a", "1", setting("reconcile-policy", "once"))),
			always(configMap("a", "2", setting("reconcile-policy", "once")))),
		Entry("for a dependent that is applied whenever the component changes",
			always(configMap("a", "1", setting("reconcile-policy", "on-object-or-component-change"))),
			always(together(configMap("a", "1", setting("reconcile-policy", "on-object-or-component-change")),
				configMap("b", "1"))), "Update a", "Create b"),
		Entry("for a dependent that is orphaned",
			always(together(configMap("a", "1"), configMap("b", "1", deletePolicy("orphan")))), always(configMap("a", "1")),
			"Release b"),
		Entry("for a dependent that is purged", always(configMap("a", "1")), always(together(
			configMap("a", "1"), configMap("scratch", "1", setting("purge-order", "0")),
			job("migrate", "1", setting("purge-order", "1")), configMap("last", "1", order(2)))),
			"Create scratch", "Create migrate", "Purge scratch", "Purge migrate", "Create last"),
		Entry("for a namespace and the objects in it", always(configMap("a", "1")), func(namespace string) string {
			return together(configMap("a", "1"), namespaceManifest(namespace+"-more"),
				within(namespace+"-more", configMap("b", "1")))
		}, "Create <namespace>-more", "Create b"),
		Entry("for a type and its instances", always(configMap("a", "1")), func(namespace string) string {
			group := namespace + ".example.com"
			return together(configMap("a", "1"), widgetDefinition(group), widget(group, "w"))
		}, "Create widgets.<namespace>.example.com", "Create w"),
	)
})

var _ = Describe("Previews of failures:", func() {
	It("the preview names the owners of conflicting objects, refused objects and types that are not served, and shows "+
		"the writes that these problems block", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		other := newGadget(ctx, namespace, "other", configMap("taken", "1"))
		expectReady(ctx, other)
		text := together(configMap("free", "1"), configMap("taken", "2"),
			"apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 100000}]}",
			"apiVersion: example.com/v1\nkind: Unheard\nmetadata: {name: of}", configMap("later", "1", order(1)))
		g := newGadget(ctx, namespace, "app", configMap("unrendered", "1"))
		expectReady(ctx, g)
		forecast, err := foresee(ctx, current(ctx, g), text)
		Expect(err).NotTo(HaveOccurred())
		Expect(effects(forecast)).To(Equal([]string{"Create free", "Create later (held)", "Prune unrendered (held)"}))
		Expect(forecast.Stuck()).To(BeTrue())
		Expect(forecast.Unchanged).To(BeZero())

		changeManifests(ctx, g, text)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring(forecast.Waiting[0].Message))
		Expect(forecast.Waiting).To(ContainElements(
			HaveField("Reason", metav1alpha1.ReasonOwnershipConflict), HaveField("Reason", "Invalid"),
			HaveField("Reason", "KindNotServed")))
		_, err = get(ctx, "v1", "ConfigMap", namespace, "unrendered")
		Expect(err).NotTo(HaveOccurred(), "the pruned object was deleted, although its deletion is blocked")
	})

	It("the preview is refused with the operator's message if nothing would be applied", func(ctx SpecContext) {
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("a", "1"))
		expectReady(ctx, g)
		for _, text := range []string{
			"", together(configMap("a", "1"), configMap("a", "2")),
			configMap("a", "1", setting("order", "much")),
		} {
			_, err := foresee(ctx, current(ctx, g), text)
			var refused *preview.RefusedError
			Expect(errors.As(err, &refused)).To(BeTrue(), "%v", err)
			Expect(refused.Terminal).To(BeTrue())
			changeManifests(ctx, g, text)
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, "True "+refused.Reason+": "+refused.Message)
		}
	})

	It("the preview reports a change of an immutable field", func(ctx SpecContext) {
		g := newGadget(ctx, newNamespace(ctx), "app", job("migrate", "1"))
		expectReady(ctx, g)
		forecast, err := foresee(ctx, current(ctx, g), job("migrate", "2"))
		Expect(err).NotTo(HaveOccurred())
		Expect(forecast.Steps).To(BeEmpty())
		Expect(forecast.Waiting).To(HaveExactElements(HaveField("Reason", "Immutable")))
	})

	It("the preview shows adoptions and repairs while no operator runs", func(ctx SpecContext) {
		operator := newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("a", "1"), servedBy(operator))
		expectReady(ctx, g)
		stop()
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "a"), `{"data": {"value": "theirs"}}`)
		create(ctx, within(namespace, configMap("b", "theirs")))
		changed := current(ctx, g)
		changed.Spec.Manifests = together(configMap("a", "1"), configMap("b", "1"))
		changed.Generation++
		forecast, err := previewOf(operator).Apply(ctx, changed)
		Expect(err).NotTo(HaveOccurred())
		Expect(effects(forecast)).To(ConsistOf("Update a", "Adopt b"))
		changeManifests(ctx, g, changed.Spec.Manifests)
		runOperator(operator, operatorOptions{})
		expectReady(ctx, g)
		for _, s := range forecast.Steps {
			Expect(mustGet(ctx, "v1", "ConfigMap", namespace, s.Key.Name).Object["data"]).To(Equal(s.After.Object["data"]))
		}
	})
})

var _ = Describe("Previews of deletions:", func() {
	It("the preview of a deletion shows the deletions in order, with the phases", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(configMap("first", "1"), configMap("second", "1", order(1)),
			configMap("kept", "1", deletePolicy("orphan")),
			oneJob("clean", preDelete(operatorName))))
		expectReady(ctx, g)
		settle(ctx, operatorName)
		mark := markAudit(ctx)
		forecast, err := previewOf(operatorName).Delete(ctx, current(ctx, g))
		Expect(err).NotTo(HaveOccurred())
		Expect(forecast.Stuck()).To(BeFalse())
		remove(ctx, g)
		expectNotFound(ctx, g)
		expectTold(doneTo(requestsSince(ctx, mark, operatorName), namespace, forecast), turns(forecast))
	})

	It("the preview of a deletion names everything that blocks the deletion", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		g := newGadget(ctx, namespace, "app",
			together(configMap("a", "1"),
				widgetDefinition(group)), func(g *gadget.Gadget) { g.Finalizers = []string{"example.com/theirs"} })
		expectReady(ctx, g)
		foreign := create(ctx, strings.Replace(widget(group, "theirs"), "{name:", "{namespace: "+namespace+", name:", 1))
		forecast, err := previewOf(operatorName).Delete(ctx, current(ctx, g))
		Expect(err).NotTo(HaveOccurred())
		Expect(forecast.Steps).To(BeEmpty())
		Expect(forecast.Blocked).To(HaveExactElements(HaveField("Names", HaveExactElements(ContainSubstring("theirs")))))
		Expect(forecast.Finalizers).To(Equal([]string{"example.com/theirs"}))

		remove(ctx, foreign[0])
		forecast, err = previewOf(operatorName).Delete(ctx, current(ctx, g))
		Expect(err).NotTo(HaveOccurred())
		Expect(effects(forecast)).To(Equal([]string{"Delete a", "Delete widgets." + group}))
		patch(ctx, g, `{"metadata": {"finalizers": ["`+operatorName+`/finalizer"]}}`)
		remove(ctx, g)
		expectNotFound(ctx, g)
	})
})

// always returns a function that returns text for every namespace.
func always(text string) func(string) string { return func(string) string { return text } }

func elements(texts []string) []any {
	found := make([]any, 0, len(texts))
	for _, t := range texts {
		found = append(found, t)
	}
	return found
}
