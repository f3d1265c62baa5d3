package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// gizmo replaces the kind Widget by Gizmo in manifests. Only specs of additional managed types use the kind Gizmo.
func gizmo(text string) string {
	return strings.NewReplacer("Widget", "Gizmo", "widgets", "gizmos").Replace(text)
}

var _ = Describe("Additional managed types:", func() {
	var namespace, elsewhere, group string

	// The definition of the type exists already and is not a dependent.
	BeforeEach(func(ctx SpecContext) {
		namespace, elsewhere, group = newNamespace(ctx), newNamespace(ctx), "types."+newGroup()
		create(ctx, gizmo(widgetDefinition(group)))
		Eventually(ctx, func() error { _, err := get(ctx, group+"/v1", "Gizmo", namespace, "none"); return err }).
			Should(MatchError(ContainSubstring("not found")))
		DeferCleanup(func(ctx SpecContext) {
			remove(ctx, mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "gizmos."+group))
		})
	})
	in := func(namespace, text string) string {
		return strings.Replace(text, "{name:", "{namespace: "+namespace+", name:", 1)
	}
	managing := func(group, kind string) func(*gadget.Gadget) {
		return func(g *gadget.Gadget) {
			g.Spec.ManagedTypes = []metav1alpha1.TypePattern{{Group: group, Kind: kind}}
		}
	}
	changes := func(ctx context.Context, mark auditMark, verb string) testcluster.Events {
		GinkgoHelper()
		return succeeded(inNamespace(requestsSince(ctx, mark, operatorName), namespace).Verb(verb).Resource("configmaps",
			"gizmos"))
	}

	It("instances of an additional managed type are applied last and deleted first", func(ctx SpecContext) {
		mark := markAudit(ctx)
		g := newGadget(ctx, namespace, "app", together(deployment("controller"), gizmo(widget(group, "own")),
			configMap("settings", "a")), managing(group, "Gizmo"))
		expectReady(ctx, g)
		Expect(verbs(changes(ctx, mark, "patch"))).To(Equal([]string{"patch configmaps 201", "patch gizmos 201"}))
		mark = markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(verbs(changes(ctx, mark, "delete"))).To(Equal([]string{"delete gizmos 200", "delete configmaps 200"}))
	})

	DescribeTable("foreign instances of an additional managed type block the deletion, if they match "+
		"a pattern of", func(ctx SpecContext, pattern func() (group, kind string)) {
		foreign := create(ctx, in(elsewhere, gizmo(widget(group, "theirs"))))
		g := newGadget(ctx, namespace, "app", together(gizmo(widget(group, "own")), configMap("settings", "a")),
			managing(pattern()))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			HavePrefix("True ForeignInstances"), ContainSubstring(elsewhere+"/theirs"), Not(ContainSubstring("own"))))
		Expect(changes(ctx, mark, "delete")).To(BeEmpty())
		remove(ctx, foreign[0])
		expectNotFound(ctx, g)
	},
		Entry("group and kind", func() (string, string) { return group, "Gizmo" }),
		Entry("a group", func() (string, string) { return group, "*" }),
		Entry("all kinds in groups with a suffix", func() (string, string) {
			return "*" + strings.TrimPrefix(group,
				"types"), "*"
		}),
		Entry("a kind in all groups", func() (string, string) { return "*", "Gizmo" }),
	)

	It("instances of an additional managed type are named only if the identity of the component may list "+
		"and get them", func(ctx SpecContext) {
		operator := newOperatorName()
		runOperator(operator, operatorOptions{component: component.Options{DefaultServiceAccount: "tenant"}})
		user := serviceAccountUser(namespace, "tenant")
		grant(ctx, namespace, "tenant", user, "configmaps: '*'")
		foreign := create(ctx, in(elsewhere, gizmo(widget(group, "theirs"))))
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), managing(group, "Gizmo"), servedBy(operator))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True ForeignInstances"),
			ContainSubstring(user+" may not list gizmos."+group+" in all namespaces")))
		Expect(fmt.Sprint(current(ctx, g).Status)).NotTo(Or(ContainSubstring("theirs"), ContainSubstring(elsewhere)))
		Expect(requestsSince(ctx, mark, operator).Resource("gizmos").As("")).To(BeEmpty(), "the operator used its own rights")

		permit(ctx, "", operator+"-gizmos", user, group+" | gizmos | get, list")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring(elsewhere+"/theirs"))
		remove(ctx, foreign[0])
		expectNotFound(ctx, g)
	})

	It("a deletion uses the additional managed types of the last apply, although the spec was "+
		"changed later", func(ctx SpecContext) {
		foreign := create(ctx, in(elsewhere, gizmo(widget(group, "theirs"))))
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), managing(group, "Gizmo"))
		expectReady(ctx, g)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.ManagedTypes, g.Spec.Suspend = nil, true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Suspended")
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring("theirs"))
		remove(ctx, foreign[0])
		expectNotFound(ctx, g)
	})

	It("a deletion uses the additional managed types in the spec if the status was emptied before", func(ctx SpecContext) {
		operator := newOperatorName()
		foreign := create(ctx, in(elsewhere, gizmo(widget(group, "theirs"))))
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), managing(group, "Gizmo"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		stop()
		emptied := current(ctx, g)
		emptied.Status = gadget.GadgetStatus{}
		Expect(k8s.Status().Update(ctx, emptied)).To(Succeed())
		remove(ctx, g)
		runOperator(operator, operatorOptions{})
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring("theirs"))
		Expect(countConfigMaps(ctx, namespace)).To(Equal(1))
		remove(ctx, foreign[0])
		expectNotFound(ctx, g)
	})

	It("an additional managed type that the API server does not serve blocks neither an apply "+
		"nor a deletion", func(ctx SpecContext) {
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), managing("nobody.example.org", "Nothing"))
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("an additional managed type with an invalid pattern is refused before anything is written", func(ctx SpecContext) {
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), managing("*foo", "Widget"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True InvalidSpec"), ContainSubstring(`"*.suffix"`)))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})
})
