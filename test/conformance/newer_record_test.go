package conformance_test

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Inventories that a newer version wrote:", func() {
	// newerField is a critical field that no released version knows.
	const newerField = " !xx@v99.1=1"

	var namespace, operator string
	var g *gadget.Gadget
	BeforeEach(func(ctx SpecContext) {
		namespace, operator = newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		g = newGadget(ctx, namespace, "app", together(configMap("first", "a"), configMap("second", "a")), servedBy(operator))
		expectReady(ctx, g)
		stop()
	})
	// setLines replaces the inventory lines in the status, under the field owner of the operator.
	setLines := func(ctx context.Context, lines []string) {
		GinkgoHelper()
		changed := current(ctx, g)
		changed.Status.Inventory, changed.Status.InventoryDigest = lines, previousDigest(lines)
		Expect(k8s.Status().Update(ctx, changed, client.FieldOwner(operator))).To(Succeed())
	}
	newer := func(ctx context.Context) (before, after []string) {
		GinkgoHelper()
		before = current(ctx, g).Status.Inventory
		after = slices.Clone(before)
		after[0] += newerField
		setLines(ctx, after)
		return before, after
	}
	expectStalled := func(ctx context.Context) {
		GinkgoHelper()
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True NewerRecord: nothing is changed"),
			ContainSubstring("/v1/ConfigMap/"+namespace+"/first"), ContainSubstring(`"xx"`),
			ContainSubstring("v99.1 and later versions")))
	}

	It("an inventory with an unknown critical field stalls the component without changes, until a version runs that "+
		"knows the field", func(ctx SpecContext) {
		before, after := newer(ctx)
		changeManifests(ctx, g, configMap("second", "b"))
		mark := markAudit(ctx)
		runOperator(operator, operatorOptions{})
		expectStalled(ctx)
		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "second"))
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(current(ctx, g).Status.Inventory).To(Equal(after))
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Writes().Resource("configmaps", "secrets"))).
			To(BeEmpty())

		By("restoring the inventory")
		setLines(ctx, before)
		requestPass(ctx, g, operator)
		expectReady(ctx, g)
		Expect(content(ctx, "ConfigMap", namespace, "second")["value"]).To(Equal("b"))
		_, err := get(ctx, "v1", "ConfigMap", namespace, "first")
		Expect(err).To(HaveOccurred())
	})

	It("an inventory with an unknown critical field stalls the deletion of the component", func(ctx SpecContext) {
		before, _ := newer(ctx)
		mark := markAudit(ctx)
		remove(ctx, g)
		runOperator(operator, operatorOptions{})
		expectStalled(ctx)
		settle(ctx, operator)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Writes().Resource("configmaps", "secrets"))).
			To(BeEmpty())
		setLines(ctx, before)
		requestPass(ctx, g, operator)
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("an inventory with an unknown critical field is the error of a preview, and of other readers of "+
		"the inventory", func(ctx SpecContext) {
		newer(ctx)
		preview := previewOf(operator)
		_, err := preview.Apply(ctx, current(ctx, g))
		Expect(err).To(MatchError(ContainSubstring("v99.1 and later versions")))
		_, err = preview.Delete(ctx, current(ctx, g))
		Expect(err).To(MatchError(ContainSubstring("v99.1 and later versions")))
		entries, err := tree.Inventory(ctx, k8s, &current(ctx, g).Status.Status)
		Expect(err).To(MatchError(ContainSubstring("v99.1 and later versions")))
		Expect(entries).To(HaveLen(1))
	})
})
