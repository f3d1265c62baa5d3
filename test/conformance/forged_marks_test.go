package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// markEditor is the field manager of the client that writes owner marks.
const markEditor = "kubectl-label"

// forgeries are edits of the owner marks of a dependent of the operator: the labels and annotations to set, as a merge
// patch. other is a component of the operator.
var forgeries = map[string]func(other manifests.Owner) (labels, annotations map[string]any){
	"label and annotation of another component": func(other manifests.Owner) (labels, annotations map[string]any) {
		return map[string]any{other.Reconciler + "/owner-id": other.ID()},
			map[string]any{other.Reconciler + "/owner-id": other.String()}
	},
	"the label of another component": func(other manifests.Owner) (labels, annotations map[string]any) {
		return map[string]any{other.Reconciler + "/owner-id": other.ID()}, nil
	},
	"the annotation of another component": func(other manifests.Owner) (labels, annotations map[string]any) {
		return nil, map[string]any{other.Reconciler + "/owner-id": other.String()}
	},
	"the label of another component without " +
		"an annotation": func(other manifests.Owner) (labels, annotations map[string]any) {
		return map[string]any{other.Reconciler + "/owner-id": other.ID()}, map[string]any{other.Reconciler + "/owner-id": nil}
	},
	"label and annotation of a component that " +
		"does not exist": func(other manifests.Owner) (labels, annotations map[string]any) {
		other.Name = "nobody"
		return map[string]any{other.Reconciler + "/owner-id": other.ID()},
			map[string]any{other.Reconciler + "/owner-id": other.String()}
	},
	"label and annotation of a component of " +
		"another operator": func(other manifests.Owner) (labels, annotations map[string]any) {
		ours := other.Reconciler + "/owner-id"
		other.Reconciler = "others.example.com"
		return map[string]any{ours: nil, "others.example.com/owner-id": other.ID()},
			map[string]any{ours: nil, "others.example.com/owner-id": other.String()}
	},
	"no marks": func(other manifests.Owner) (labels, annotations map[string]any) {
		return map[string]any{other.Reconciler + "/owner-id": nil}, map[string]any{other.Reconciler + "/owner-id": nil}
	},
}

var _ = Describe("Owner marks of a dependent that another client writes:", func() {
	marksOf := func(ctx context.Context, namespace, name, operator string) [2]string {
		GinkgoHelper()
		o := mustGet(ctx, "v1", "ConfigMap", namespace, name)
		return [2]string{o.GetLabels()[operator+"/owner-id"], o.GetAnnotations()[operator+"/owner-id"]}
	}
	// markedFor returns the owner that the marks of a dependent name.
	markedFor := func(ctx context.Context, namespace, name, operator string) manifests.Owner {
		GinkgoHelper()
		owner, ok := manifests.ParseOwner(marksOf(ctx, namespace, name, operator)[1])
		Expect(ok).To(BeTrue())
		return owner
	}
	forge := func(ctx context.Context, namespace, name, how string, other manifests.Owner) {
		GinkgoHelper()
		labels, annotations := forgeries[how](other)
		text, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels, "annotations": annotations}})
		Expect(err).NotTo(HaveOccurred())
		patchAs(ctx, markEditor, mustGet(ctx, "v1", "ConfigMap", namespace, name), string(text))
	}
	suspend := func(ctx context.Context, g *gadget.Gadget) {
		GinkgoHelper()
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")
	}
	// start creates two components; the dependents of the first one are named a-0, a-1 and so on.
	start := func(ctx context.Context, namespace, operator, policy string) (one, two *gadget.Gadget) {
		GinkgoHelper()
		policy = fmt.Sprintf("%s/update-policy: %s", operator, policy)
		one = newGadget(ctx, namespace, "one", configMaps("a", len(forgeries), "a", policy), servedBy(operator))
		two = newGadget(ctx, namespace, "two", configMap("theirs", "a"), servedBy(operator))
		expectReady(ctx, one)
		expectReady(ctx, two)
		return one, two
	}

	for _, c := range []struct {
		policy  string
		running bool
	}{{"ssa-override", true}, {"ssa-merge", true}, {"replace", true}, {"ssa-override", false}} {
		It(fmt.Sprintf("they are replaced at once, and both components delete what is theirs (update policy %s, operator "+
			"running: %t)", c.policy, c.running),
			func(ctx SpecContext) {
				namespace, operator := newNamespace(ctx), newOperatorName()
				stop := runOperator(operator, operatorOptions{})
				one, two := start(ctx, namespace, operator, c.policy)
				ours, other := marksOf(ctx, namespace, "a-0", operator), markedFor(ctx, namespace, "theirs", operator)
				uid := mustGet(ctx, "v1", "ConfigMap", namespace, "a-0").GetUID()
				settle(ctx, operator)
				if !c.running {
					stop()
				}
				for i, how := range slices.Sorted(maps.Keys(forgeries)) {
					forge(ctx, namespace, fmt.Sprintf("a-%d", i), how, other)
				}
				if !c.running {
					runOperator(operator, operatorOptions{})
				}
				for i, how := range slices.Sorted(maps.Keys(forgeries)) {
					Eventually(ctx, func() [2]string { return marksOf(ctx, namespace, fmt.Sprintf("a-%d", i), operator) }).
						Should(Equal(ours), how)
				}
				expectReady(ctx, one)
				Expect(notesOf(ctx, namespace, metav1alpha1.ReasonOwnershipConflict)).To(BeEmpty())
				Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "a-0").GetUID()).To(Equal(uid))
				remove(ctx, two)
				expectNotFound(ctx, two)
				Expect(countConfigMaps(ctx, namespace)).To(Equal(len(forgeries)))
				remove(ctx, one)
				expectNotFound(ctx, one)
				Expect(countConfigMaps(ctx, namespace)).To(BeZero())
			})
	}

	It("a deletion that finds them deletes the recorded objects, and the named component deletes "+
		"none of them", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		one, two := start(ctx, namespace, operatorName, "ssa-override")
		other := markedFor(ctx, namespace, "theirs", operatorName)
		suspend(ctx, one)
		for i, how := range slices.Sorted(maps.Keys(forgeries)) {
			forge(ctx, namespace, fmt.Sprintf("a-%d", i), how, other)
		}
		remove(ctx, two)
		expectNotFound(ctx, two)
		Expect(countConfigMaps(ctx, namespace)).To(Equal(len(forgeries)))
		remove(ctx, one)
		expectNotFound(ctx, one)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("an object that is no longer rendered is pruned by its own component only", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		one, two := start(ctx, namespace, operatorName, "ssa-override")
		suspend(ctx, one)
		forge(ctx, namespace, "a-0", "label and annotation of another component",
			markedFor(ctx, namespace, "theirs", operatorName))
		changeManifests(ctx, two, configMap("theirs", "b"))
		expectReady(ctx, two)
		mustGet(ctx, "v1", "ConfigMap", namespace, "a-0")
		change(ctx, one, func(g *gadget.Gadget) { g.Spec.Suspend, g.Spec.Manifests = false, configMap("a-1", "a") })
		expectReady(ctx, one)
		Expect(configMapExists(ctx, namespace, "a-0")).To(BeFalse())
	})

	It("the named component does not take over the object if it renders it, too, and "+
		"never deletes it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		one, two := start(ctx, namespace, operatorName, "ssa-override")
		suspend(ctx, one)
		forge(ctx, namespace, "a-0", "label and annotation of another component",
			markedFor(ctx, namespace, "theirs", operatorName))
		before := mustGet(ctx, "v1", "ConfigMap", namespace, "a-0")
		changeManifests(ctx, two, together(configMap("theirs", "a"), configMap("a-0", "b")))
		expectCondition(ctx, two, metav1alpha1.ConditionStalled, And(HavePrefix("True OwnershipConflict"), ContainSubstring(
			"it belongs to a component whose owner label another client has replaced (field manager "+markEditor+")")))
		changeManifests(ctx, two, configMap("theirs", "a"))
		expectReady(ctx, two)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "a-0").GetResourceVersion()).To(Equal(before.GetResourceVersion()))
		remove(ctx, two)
		expectNotFound(ctx, two)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "a-0").GetResourceVersion()).To(Equal(before.GetResourceVersion()))
		change(ctx, one, func(g *gadget.Gadget) { g.Spec.Suspend = false })
		expectReady(ctx, one)
		Expect(markedFor(ctx, namespace, "a-0", operatorName).Name).To(Equal("one"))
	})

	It("an instance with them is foreign for the component that defines its type", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		defining := newGadget(ctx, namespace, "two", together(widgetDefinition(group), configMap("theirs", "a")))
		expectReady(ctx, defining)
		using := newGadget(ctx, namespace, "one", widget(group, "used"))
		expectReady(ctx, using)
		suspend(ctx, using)
		other := markedFor(ctx, namespace, "theirs", operatorName)
		used := mustGet(ctx, group+"/v1", "Widget", namespace, "used")
		patchAs(ctx, markEditor, used,
			fmt.Sprintf(`{"metadata":{"labels":{"%[1]s/owner-id":%[2]q},"annotations":{"%[1]s/owner-id":%[3]q}}}`,
				operatorName, other.ID(), other))
		remove(ctx, defining)
		expectCondition(ctx, defining, metav1alpha1.ConditionStalled, And(HavePrefix("True ForeignInstances"),
			ContainSubstring("/used")))
		remove(ctx, using)
		expectNotFound(ctx, using)
		expectNotFound(ctx, used)
		expectNotFound(ctx, defining)
	})
})
