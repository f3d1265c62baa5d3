package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// sizeIs is a condition in Go: the size in the status is not zero.
func sizeIs(self *unstructured.Unstructured) (bool, string) {
	size, _, _ := unstructured.NestedInt64(self.Object, "status", "size")
	return size > 0, fmt.Sprintf("its size is %d", size)
}

var _ = Describe("Conditions of readiness:", Ordered, func() {
	var group string
	BeforeAll(func(ctx SpecContext) {
		group = newGroup()
		definition := create(ctx, widgetDefinition(group))[0]
		Eventually(ctx, func() error { _, err := get(ctx, group+"/v1", "Widget", "default", "none"); return err }).
			Should(MatchError(ContainSubstring("not found")))
		DeferCleanup(func(ctx SpecContext) { remove(ctx, definition) })
	})
	// conditional renders a widget with a condition, and a ConfigMap in the next wave.
	conditional := func(operator, condition string) string {
		w := strings.Replace(widget(group, "w"), "{name: w}", "{name: w, annotations: {"+settingOf(operator, "ready-when",
			condition)+"}}", 1)
		return together(w, configMap("later", "a", settingOf(operator, "order", "1")))
	}
	reports := func(ctx context.Context, g *gadget.Gadget, status string) {
		GinkgoHelper()
		w := mustGet(ctx, group+"/v1", "Widget", g.Namespace, "w")
		Expect(k8s.Status().Patch(ctx, w, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status":%s}`, status)))).
			To(Succeed())
	}
	expectWaiting := func(ctx context.Context, g *gadget.Gadget, message string) {
		GinkgoHelper()
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("/w"), ContainSubstring(message)))
		_, err := get(ctx, "v1", "ConfigMap", g.Namespace, "later")
		Expect(err).To(HaveOccurred(), "the object of the next wave exists, although the wave must wait")
	}

	It("an object is ready when its condition holds, and the status shows the values that the "+
		"condition read", func(ctx SpecContext) {
		g := newGadget(ctx, newNamespace(ctx), "app",
			conditional(operatorName, `self.status.phase == "Bound" && self.status.size > 1`))
		expectWaiting(ctx, g, `has no value yet (self.status.phase is not set, self.status.size is not set)`)
		reports(ctx, g, `{"phase":"Pending","size":2}`)
		expectWaiting(ctx, g, `is false (self.status.phase is "Pending", self.status.size is 2)`)
		reports(ctx, g, `{"phase":"Bound","size":"big"}`)
		expectWaiting(ctx, g, `no such overload`)
		reports(ctx, g, `{"phase":"Bound","size":2}`)
		expectReady(ctx, g)
		reports(ctx, g, `{"phase":"Lost","size":2}`)
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("False"), ContainSubstring(`self.status.phase is "Lost"`)))
	})

	It("conditions that cannot be compiled are reported together, with their objects and positions, before "+
		"the first write", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(
			configMap("a", "a"), configMap("b", "b", setting("ready-when", "self.data.")),
			configMap("c", "c", setting("ready-when", "self.data == other")),
			configMap("d", "d", setting("ready-when", "go/none"))))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True InvalidManifests"),
			ContainSubstring("ConfigMap b"), ContainSubstring("line 1, column 11"),
			ContainSubstring("ConfigMap c"), ContainSubstring("column 14: undeclared reference to 'other'"),
			ContainSubstring("ConfigMap d"), ContainSubstring("no condition go/none; it has no conditions")))
		Expect(writes(ctx, operatorName, namespace).Resource("configmaps")).To(BeEmpty())
	})

	It("the message about a condition of a Secret has no value of the Secret", func(ctx SpecContext) {
		g := newGadget(ctx, newNamespace(ctx), "app",
			fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: {%s}}\nstringData: {token: hunter2}",
				setting("ready-when", "self.data.token == 'x'")))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("ready-when: self.data.token == 'x' is false"), Not(ContainSubstring("aHVudGVyMg"))))
	})

	It("the author's conditions and analyzers decide", func(ctx SpecContext) {
		operator := newOperatorName()
		runOperator(operator, operatorOptions{component: component.Options{
			Dependents: component.Dependents{
				Conditions: map[string]component.Condition{"sized": sizeIs},
				Analyzers: map[schema.GroupKind]component.Analyzer{
					{Group: group, Kind: "Widget"}: func(live *unstructured.Unstructured) (result.NodeState, string) {
						phase, _, _ := unstructured.NestedString(live.Object, "status", "phase")
						states := map[string]result.NodeState{"": result.NodeInProgress, "Broken": result.NodeFailed}
						return states[phase], "its phase is '" + phase + "'"
					},
				},
			},
		}})
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", conditional(operator, "go/sized"), servedBy(operator))
		expectWaiting(ctx, g, "its phase is ''")
		reports(ctx, g, `{"phase":"Broken"}`)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentFailed"),
			ContainSubstring("its phase is 'Broken'")))
	})

	It("a condition in Go decides after the rules of the type", func(ctx SpecContext) {
		operator := newOperatorName()
		runOperator(operator, operatorOptions{
			component: component.Options{
				Dependents: component.Dependents{Conditions: map[string]component.Condition{"sized": sizeIs}},
			},
		})
		g := newGadget(ctx, newNamespace(ctx), "app", conditional(operator, "go/sized"), servedBy(operator))
		expectWaiting(ctx, g, "ready-when: go/sized: its size is 0")
		reports(ctx, g, `{"size":1}`)
		expectReady(ctx, g)
	})

	It("a condition costs no request at rest; after an event and after a restart only an object without a status "+
		"is read, once", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		secret := fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: {%s}}\n"+
			"stringData: {token: hunter2}",
			settingOf(operator, "ready-when", "has(self.data.token)"))
		g := newGadget(ctx, namespace, "app", together(conditional(operator, "self.status.size > 0"),
			configMap("checked", "a", settingOf(operator, "ready-when", "self.data.value == 'a'")), configMap("plain", "a"),
			secret), servedBy(operator))
		reads := func(mark auditMark) []string {
			GinkgoHelper()
			return verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Verb("get").
				Where(func(e testcluster.Event) bool { return e.Resource != "gadgets" }))
		}
		mark := markAudit(ctx)
		Eventually(func() error { _, err := get(ctx, group+"/v1", "Widget", namespace, "w"); return err }).Should(Succeed())
		reports(ctx, g, `{"size":1}`)
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(reads(mark)).To(BeEmpty(), "the response to a write shows the readiness")
		mark = markAudit(ctx)
		requestPass(ctx, g, operator)
		Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty(), "a condition costs a request at rest")

		By("restarting the operator")
		stop()
		mark = markAudit(ctx)
		runAgain(ctx, operator)
		Expect(reads(mark)).To(ConsistOf("get configmaps 200", "get secrets 200"))
		mark = markAudit(ctx)
		requestPass(ctx, g, operator)
		Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty())

		By("changing the objects")
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "checked"), `{"data":{"more":"b"}}`)
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "plain"), `{"data":{"more":"b"}}`)
		reports(ctx, g, `{"size":2}`)
		Eventually(func() []string { return reads(mark) }).Should(Equal([]string{"get configmaps 200"}))
		settle(ctx, operator)
		Expect(reads(mark)).To(Equal([]string{"get configmaps 200"}))
	})
})
