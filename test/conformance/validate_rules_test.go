package conformance_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// boundedDefinition renders a definition of Widgets with rules about the values of one Widget.
func boundedDefinition(group string) string {
	head, _, _ := strings.Cut(typedDefinition(group), "            spec:\n")
	return head + `            spec:
              type: object
              x-kubernetes-validations:
                - {rule: "!has(self.min) || self.min < self.max", message: min is below max}
              properties:
                min: {type: integer}
                max: {type: integer, default: 5}
                parts: {type: array, items: {type: object, properties: {size: {type: integer, x-kubernetes-validations: [{rule: self % 2 == 0}]}}}}`
}

var _ = Describe("Validation of rules before the first write:", func() {
	for _, defined := range []bool{false, true} {
		where := map[bool]string{true: "that the same set defines", false: "that the API server serves"}[defined]
		It("an object that a rule refuses holds the set, and a valid one costs no dry run, for a type "+
			where, func(ctx SpecContext) {
			namespace, group, operator := newNamespace(ctx), newGroup(), newOperatorName()
			if !defined {
				create(ctx, boundedDefinition(group))
				Eventually(ctx, func() error {
					return k8s.Create(ctx, objectIn(typedWidget(group, "probe", "{min: 1}"), namespace), client.DryRunAll)
				}).Should(Succeed())
			}
			set := func(value, spec string) string {
				if spec == "" {
					return configMap("good", value)
				}
				definition := configMap("another", "a")
				if defined {
					definition = boundedDefinition(group)
				}
				late := "{name: w, annotations: {" + settingOf(operator, "order", "2") + "}"
				return together(definition, configMap("good", value), strings.Replace(typedWidget(group, "w", spec),
					"{name: w", late, 1))
			}
			runOperator(operator, operatorOptions{})
			g := newGadget(ctx, namespace, "app", set("a", ""), servedBy(operator))
			expectReady(ctx, g)
			for _, c := range []struct{ spec, field, want string }{
				{"{min: 5}", "spec: ", "min is below max"},
				{"{parts: [{size: 2}, {size: 3}]}", "spec.parts[1].size: ", "failed rule: self % 2 == 0"},
			} {
				changeManifests(ctx, g, set("b", c.spec))
				expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix(invalidSet), ContainSubstring("/w ("),
					ContainSubstring(c.field), ContainSubstring(c.want)))
				Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "good").Object["data"]).To(HaveKeyWithValue("value", "a"))
			}
			mark := markAudit(ctx)
			changeManifests(ctx, g, set("b", "{min: 4, parts: [{size: 2}]}"))
			expectReady(ctx, g)
			Eventually(ctx, func() any { return mustGet(ctx, "v1", "ConfigMap", namespace, "good").Object["data"] }).
				Should(HaveKeyWithValue("value", "b"))
			dryRuns := requestsSince(ctx, mark, operator).
				Where(func(e testcluster.Event) bool { return strings.Contains(e.RequestURI, "dryRun") })
			Expect(dryRuns).To(BeEmpty())
			schemas := schemaRequests(ctx, mark, operator)
			Expect(len(schemas)).To(BeNumerically("<=", 1), "%v", schemas)
		})
	}
})
