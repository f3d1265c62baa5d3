package conformance_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

var _ = Describe("A component that cannot be applied", func() {
	It("says so when it is its own dependent, and can be deleted", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "self", fmt.Sprintf("apiVersion: gadgets.example.com/v1\nkind: Gadget\nmetadata: {name: self, namespace: %s}", namespace))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True InvalidManifests"), ContainSubstring("the component itself")))
		remove(ctx, g)
		expectGone(ctx, g)
	})

	It("says so when it renders what is no object, and can be deleted", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "review", "apiVersion: authentication.k8s.io/v1\nkind: TokenReview\nmetadata: {name: review}\nspec: {token: x}")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True DependentFailed"), ContainSubstring("cannot be a dependent")))
		remove(ctx, g)
		expectGone(ctx, g)
	})

	for what, broken := range map[string]generator.GeneratorFunc{
		"panics": func(context.Context, generator.Request) ([]client.Object, error) { panic("no hands") },
		"returns nil as an object": func(context.Context, generator.Request) ([]client.Object, error) {
			return []client.Object{nil}, nil
		},
	} {
		It("says so when its generator "+what, func(ctx SpecContext) {
			namespace, operator := newNamespace(ctx), newOperatorName()
			runOperator(operator, operatorOptions{generate: broken})
			g := newGadget(ctx, namespace, "app", "", servedBy(operator))
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, HavePrefix("True GenerateFailed: the generator "))
		})
	}
})
