package conformance_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("The update policy default:", func() {
	const put, apply = "update configmaps 200", "patch configmaps 200"
	for _, c := range []struct {
		name               string
		options, component metav1alpha1.UpdatePolicy
		want               string
	}{
		{"an object has the policy of the options", metav1alpha1.UpdateSSAMerge, "", apply},
		{
			"an object has the policy of the component, if it sets one", metav1alpha1.UpdateSSAMerge,
			metav1alpha1.UpdateReplace, put,
		},
		{
			"a component with the policy default has the policy of the options", metav1alpha1.UpdateReplace,
			metav1alpha1.UpdateDefault, put,
		},
		{"options with the policy default replace", metav1alpha1.UpdateDefault, "", put},
	} {
		It(c.name, func(ctx SpecContext) {
			namespace, operator := newNamespace(ctx), newOperatorName()
			runOperator(operator, operatorOptions{
				component: component.Options{
					Dependents: component.Dependents{Policies: metav1alpha1.Policies{Update: c.options}},
				},
			})
			text := func(value string) string {
				return configMap("settings", value, settingOf(operator, "update-policy", "default"))
			}
			g := newGadget(ctx, namespace, "app", text("a"), servedBy(operator), func(g *gadget.Gadget) {
				g.Spec.Policies.Update = c.component
			})
			expectReady(ctx, g)
			settle(ctx, operator)
			mark := markAudit(ctx)
			changeManifests(ctx, g, text("b"))
			expectReady(ctx, g)
			Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps").Writes())).
				To(Equal([]string{c.want}))
		})
	}
})
