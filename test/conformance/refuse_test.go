package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var _ = Describe("Components that cannot be applied:", func() {
	It("a component that renders itself is refused, and can be deleted", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "self",
			fmt.Sprintf("apiVersion: gadgets.example.com/v1\nkind: Gadget\nmetadata: {name: self, namespace: %s}", namespace))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True InvalidManifests"),
			ContainSubstring("the component itself")))
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("a component that renders a kind whose objects the API server does not store, such as a TokenReview, fails, and "+
		"can be deleted", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "review",
			"apiVersion: authentication.k8s.io/v1\nkind: TokenReview\nmetadata: {name: review}\nspec: {token: x}")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True DependentFailed"), ContainSubstring("cannot be a dependent")))
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	DescribeTable("a dependent that is too large is named in the condition, and the other dependents "+
		"are applied:", func(ctx SpecContext, size int, large, want string) {
		namespace, operator, group := newNamespace(ctx), newOperatorName(), newGroup()
		runOperator(operator, operatorOptions{generate: generator.GeneratorFunc(func(context.Context,
			generator.Request,
		) ([]client.Object, error) {
			text := together(configMap("sibling", "a"), widgetDefinition(group),
				fmt.Sprintf(large, group, strings.Repeat("x", size)))
			return decoded(text)
		})})
		g := newGadget(ctx, namespace, "app", "", servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			Or(HavePrefix("True DependentFailed"), HavePrefix("True InvalidManifests")), ContainSubstring(namespace+"/large"),
			ContainSubstring(want)))
		Expect(len(condition(current(ctx, g), metav1alpha1.ConditionStalled))).To(BeNumerically("<", 5000),
			"the message is too long: it must not quote the object")
		mustGet(ctx, "v1", "ConfigMap", namespace, "sibling")
		remove(ctx, g)
		expectNotFound(ctx, g)
	},
		Entry("too large for etcd", 1600<<10, "apiVersion: %s/v1\nkind: Widget\nmetadata: {name: large}\nspec: {text: %q}",
			"too large"),
		Entry("too large for the API server", 4<<20,
			"apiVersion: %s/v1\nkind: Widget\nmetadata: {name: large}\nspec: {text: %q}", "too large"),
	)

	It("a field that a built-in type does not have is named in the condition", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		text := "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80, portt: 81}]}"
		g := newGadget(ctx, namespace, "app", text)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True InvalidManifests"),
			ContainSubstring(namespace+"/web"), ContainSubstring("portt")))
	})

	for what, broken := range map[string]generator.GeneratorFunc{
		"panics": func(context.Context, generator.Request) ([]client.Object, error) { panic("no hands") },
		"returns nil as an object": func(context.Context, generator.Request) ([]client.Object, error) {
			return []client.Object{nil}, nil
		},
	} {
		It("a component whose generator "+what+" reports the failure", func(ctx SpecContext) {
			namespace, operator := newNamespace(ctx), newOperatorName()
			runOperator(operator, operatorOptions{generate: broken})
			g := newGadget(ctx, namespace, "app", "", servedBy(operator))
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, HavePrefix("True GenerateFailed: the generator "))
		})
	}
})

// decoded returns the objects of a stream of manifests, as a generator returns them.
func decoded(text string) ([]client.Object, error) {
	found, err := manifests.Decode("manifests", []byte(text))
	objects := make([]client.Object, 0, len(found))
	for _, o := range found {
		objects = append(objects, o)
	}
	return objects, err
}
