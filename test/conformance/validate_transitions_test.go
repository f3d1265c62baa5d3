package conformance_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// fixedDefinition renders a definition of Widgets with rules that compare a Widget with its previous version. A label of
// the definition changes it.
func fixedDefinition(group, label string) string {
	head, _, _ := strings.Cut(typedDefinition(group), "            spec:\n")
	return strings.Replace(head, "metadata: {", "metadata: {labels: {a: "+label+"}, ", 1) + `            spec:
              type: object
              x-kubernetes-validations:
                - {rule: "has(self.mode) == has(oldSelf.mode)", message: mode stays}
                - {rule: "oldSelf.hasValue() || !has(self.late)", optionalOldSelf: true, message: late is for later}
              properties:
                colour: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}
                mode: {type: string}
                late: {type: string}
                text: {type: string}
                parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name],
                  properties: {name: {type: string}, size: {type: integer, x-kubernetes-validations: [{rule: self >= oldSelf, message: a part does not shrink}]}}}}`
}

var _ = Describe("Validation of changes before the first write:", func() {
	for _, policy := range inPlacePolicies {
		for _, defined := range []bool{false, true} {
			where := map[bool]string{true: "that the same set defines again", false: "that the API server serves"}[defined]
			It("a change that a rule about the previous version refuses holds the set, with the update policy "+policy+
				", for a type "+where, func(ctx SpecContext) {
				namespace, group := newNamespace(ctx), newGroup()
				if !defined {
					create(ctx, fixedDefinition(group, "a"))
					Eventually(ctx, func() error {
						return k8s.Create(ctx, objectIn(typedWidget(group, "probe", "{colour: red}"), namespace), client.DryRunAll)
					}).Should(Succeed())
				}
				set := func(value, spec string) string {
					definition := configMap("another", "a")
					if defined {
						definition = fixedDefinition(group, value)
					}
					widget := strings.Replace(typedWidget(group, "w", spec), "{name: w",
						"{name: w, annotations: {"+updatePolicy(policy)+", "+order(2)+"}", 1)
					return together(definition, configMap("good", value), widget)
				}
				g := newGadget(ctx, namespace, "app", set("a", "{colour: red, parts: [{name: a, size: 3}]}"))
				expectReady(ctx, g)
				for _, c := range []struct{ spec, want string }{
					{
						"{colour: blue, parts: [{name: a, size: 3}]}",
						"spec.colour: Invalid value: \"blue\": failed rule: self == oldSelf",
					},
					{"{colour: red, mode: fast, parts: [{name: a, size: 3}]}", "spec: Invalid value: mode stays"},
					{"{colour: red, parts: [{name: a, size: 2}]}", "spec.parts[0].size: Invalid value: 2: a part does not shrink"},
				} {
					changeManifests(ctx, g, set("b", c.spec))
					expectCondition(ctx, g, metav1alpha1.ConditionStalled,
						And(HavePrefix(invalidSet), ContainSubstring("/w ("+c.want)))
					Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "good").Object["data"]).To(HaveKeyWithValue("value", "a"))
				}
				changeManifests(ctx, g, set("b", "{colour: red, text: more, parts: [{name: a, size: 4}]}"))
				expectReady(ctx, g)
			})
		}
	}

	It("a retry of a set repeats only the dry runs that were not accepted", func(ctx SpecContext) {
		namespace, group, operator := newNamespace(ctx), newGroup(), newOperatorName()
		create(ctx, fixedDefinition(group, "a"))
		Eventually(ctx, func() error {
			return k8s.Create(ctx, objectIn(typedWidget(group, "probe", "{colour: red}"), namespace), client.DryRunAll)
		}).Should(Succeed())
		set := func(text, colour string) string {
			return together(typedWidget(group, "a", "{colour: red, text: "+text+"}"),
				typedWidget(group, "b", "{colour: red, text: "+text+"}"),
				typedWidget(group, "w", "{colour: "+colour+"}"))
		}
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", set("one", "red"), servedBy(operator), retryLate)
		expectReady(ctx, g)
		refused := And(HavePrefix(invalidSet), ContainSubstring("/w ("))
		asked := func(mark auditMark) []string {
			var names []string
			for _, e := range requestsSince(ctx, mark, operator).
				Where(func(e testcluster.Event) bool { return strings.Contains(e.RequestURI, "dryRun") }) {
				names = append(names, e.Name)
			}
			return names
		}
		mark := markAudit(ctx)
		changeManifests(ctx, g, set("other", "blue"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, refused)
		settle(ctx, operator)
		Expect(asked(mark)).To(ConsistOf("a", "b", "w"))

		By("retrying")
		mark = markAudit(ctx)
		requestPass(ctx, g, operator)
		Expect(asked(mark)).To(ConsistOf("w"))

		By("retrying after another client changed an object")
		mark = markAudit(ctx)
		patch(ctx, mustGet(ctx, group+"/v1", "Widget", namespace, "a"), `{"spec":{"text":"theirs"}}`)
		settle(ctx, operator)
		requestPass(ctx, g, operator)
		Expect(asked(mark)).To(And(ContainElements("a", "w"), Not(ContainElement("b"))))
		changeManifests(ctx, g, set("other", "red"))
		expectReady(ctx, g)
	})

	It("a rule about the previous version that also judges new objects holds the set, and only objects of such types "+
		"cost dry runs", func(ctx SpecContext) {
		namespace, group, operator := newNamespace(ctx), newGroup(), newOperatorName()
		create(ctx, fixedDefinition(group, "a"))
		Eventually(ctx, func() error {
			return k8s.Create(ctx, objectIn(typedWidget(group, "probe", "{colour: red}"), namespace), client.DryRunAll)
		}).Should(Succeed())
		set := func(value, spec string) string {
			return together(configMap("good", value), strings.Replace(typedWidget(group, "w", spec), "{name: w",
				"{name: w, annotations: {"+settingOf(operator, "order", "2")+"}", 1))
		}
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", set("a", "{colour: red, late: x}"), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix(invalidSet), ContainSubstring("late is for later")))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		changeManifests(ctx, g, set("a", "{colour: red}"))
		expectReady(ctx, g)

		mark := markAudit(ctx)
		changeManifests(ctx, g, set("b", "{colour: red}"))
		expectReady(ctx, g)
		Eventually(ctx, func() any { return mustGet(ctx, "v1", "ConfigMap", namespace, "good").Object["data"] }).
			Should(HaveKeyWithValue("value", "b"))
		dryRuns := requestsSince(ctx, mark, operator).
			Where(func(e testcluster.Event) bool { return strings.Contains(e.RequestURI, "dryRun") })
		Expect(dryRuns).To(BeEmpty())
	})
})
