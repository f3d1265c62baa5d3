package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Status hints:", Ordered, func() {
	var group string
	BeforeAll(func(ctx SpecContext) {
		group = newGroup()
		definition := create(ctx, widgetDefinition(group))[0]
		Eventually(ctx, func() error { _, err := get(ctx, group+"/v1", "Widget", "default", "none"); return err }).
			Should(MatchError(ContainSubstring("not found")))
		DeferCleanup(func(ctx SpecContext) { remove(ctx, definition) })
	})
	// hinted renders a widget with hints, and a ConfigMap in the next wave.
	hinted := func(hints string) string {
		w := strings.Replace(widget(group, "w"), "{name: w}", "{name: w, annotations: {"+setting("status-hint", hints)+"}}",
			1)
		return together(w, configMap("later", "a", order(1)))
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

	DescribeTable("an object with a status hint becomes ready as its controller reports it:", func(ctx SpecContext,
		hints string, steps []string, done string,
	) {
		g := newGadget(ctx, newNamespace(ctx), "app", hinted(hints))
		for i := 0; i < len(steps); i += 2 {
			if steps[i] != "" {
				reports(ctx, g, steps[i])
			}
			expectWaiting(ctx, g, steps[i+1])
		}
		reports(ctx, g, done)
		expectReady(ctx, g)
	},
		Entry("has-observed-generation", "has-observed-generation", []string{
			"", "its controller has not processed it yet",
			`{"observedGeneration":0}`, "latest observed generation is 0",
		}, `{"observedGeneration":1}`),
		Entry("has-ready-condition", "has-ready-condition", []string{
			"", "not Ready yet",
			`{"conditions":[{"type":"Ready","status":"False","message":"no room"}]}`, "no room",
			`{"conditions":[{"type":"Ready","status":"True","observedGeneration":0}]}`, "was set for generation 0",
		}, `{"conditions":[{"type":"Ready","status":"True"}]}`),
		Entry("conditions", "conditions=Synced;Warm", []string{
			"", "not Synced yet",
			`{"conditions":[{"type":"Synced","status":"True"}]}`, "not Warm yet",
			`{"conditions":[{"type":"Synced","status":"True"},{"type":"Warm","status":"Unknown","message":"heating"}]}`,
			"heating",
			`{"conditions":[{"type":"Synced","status":"True","observedGeneration":0},{"type":"Warm","status":"True"}]}`,
			"was set for generation 0",
		}, `{"conditions":[{"type":"Synced","status":"True","observedGeneration":1},{"type":"Warm","status":"True"}]}`),
		Entry("several hints", "has-observed-generation, conditions=Warm", []string{
			"", "its controller has not processed it yet",
			`{"observedGeneration":1}`, "not Warm yet",
		}, `{"observedGeneration":1,"conditions":[{"type":"Warm","status":"True"}]}`),
	)

	It("a status hint ignores a status of another generation than the generation that was "+
		"applied last", func(ctx SpecContext) {
		g := newGadget(ctx, newNamespace(ctx), "app", hinted("has-ready-condition"))
		expectWaiting(ctx, g, "not Ready yet")
		reports(ctx, g, `{"conditions":[{"type":"Ready","status":"True","observedGeneration":1}]}`)
		expectReady(ctx, g)
		changeManifests(ctx, g, strings.Replace(hinted("has-ready-condition"), "size: 1", "size: 2", 1))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("was set for generation 1, but the object is at generation 2")))
		reports(ctx, g, `{"conditions":[{"type":"Ready","status":"True","observedGeneration":2}]}`)
		expectReady(ctx, g)
	})

	It("a changed status hint takes effect by one write of metadata", func(ctx SpecContext) {
		plain := strings.Replace(hinted("has-ready-condition"), setting("status-hint", "has-ready-condition"), "", 1)
		g := newGadget(ctx, newNamespace(ctx), "app", plain)
		expectReady(ctx, g)
		before, mark := mustGet(ctx, group+"/v1", "Widget", g.Namespace, "w"), markAudit(ctx)
		changeManifests(ctx, g, hinted("has-ready-condition"))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("not Ready yet")))
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operatorName), g.Namespace).Resource("widgets"))).
			To(Equal([]string{"patch widgets 200"}))
		Expect(mustGet(ctx, group+"/v1", "Widget", g.Namespace, "w").GetGeneration()).To(Equal(before.GetGeneration()))
		changeManifests(ctx, g, plain)
		expectReady(ctx, g)
	})

	It("a status hint on a type without a status is refused", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a", setting("status-hint", "has-ready-condition")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True InvalidManifests"),
			ContainSubstring("a ConfigMap has no status to read")))
		Expect(writes(ctx, operatorName, namespace).Resource("configmaps")).To(BeEmpty())
	})

	It("a condition Ready of an older generation is ignored, also without a status hint", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", widget(group, "w"))
		expectReady(ctx, g)
		reports(ctx, g, `{"conditions":[{"type":"Ready","status":"True","observedGeneration":1}]}`)
		changeManifests(ctx, g, strings.Replace(widget(group, "w"), "size: 1", "size: 2", 1))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("was set for generation 1, but the object is at generation 2")))
		reports(ctx, g, `{"conditions":[{"type":"Ready","status":"True","observedGeneration":2}]}`)
		expectReady(ctx, g)
	})
})
