package conformance_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Crashes with an inventory in Secrets:", slow, func() {
	// cut defines crashes after each number of writes to a resource from first to last.
	type cut struct {
		resource    string
		first, last int64
	}
	for _, step := range []struct {
		name string
		from int
		to   int
		cuts []cut
	}{
		{
			"of a component that is applied for the first time",
			0, many,
			[]cut{{"secrets", 0, 4}, {"gadgets", 1, 4}, {"configmaps", 3, 3}},
		},
		{
			"of a component whose inventory moves from the status to Secrets",
			few, many,
			[]cut{{"secrets", 0, 4}, {"gadgets", 1, 3}, {"configmaps", 3, 3}},
		},
		{
			"of a component whose inventory changes",
			many, many + 4,
			[]cut{{"secrets", 0, 6}, {"gadgets", 1, 2}, {"configmaps", 3, 3}},
		},
		{
			"of a component whose inventory moves from Secrets to the status",
			many, few,
			[]cut{{"secrets", 0, 2}, {"gadgets", 1, 1}, {"configmaps", 3, 3}},
		},
		{"of a component that is deleted", many, 0, []cut{{"secrets", 0, 2}, {"gadgets", 1, 2}, {"configmaps", 3, 3}}},
	} {
		for _, cut := range step.cuts {
			for after := cut.first; after <= cut.last; after++ {
				It(fmt.Sprintf("no entry in the inventory %s is lost by a crash after %d writes to %s", step.name, after,
					cut.resource), func(ctx SpecContext) {
					namespace, operator := newNamespace(ctx), newOperatorName()
					options := operatorOptions{component: spilling}
					g := &gadget.Gadget{}
					if step.from > 0 {
						stop := runOperator(operator, options)
						g = newGadget(ctx, namespace, "app", configMaps("cm", step.from, "a"), servedBy(operator))
						expectReady(ctx, g)
						settle(ctx, operator)
						stop()
					}
					switch {
					case step.from == 0:
						g = newGadget(ctx, namespace, "app", configMaps("cm", step.to, "a"), servedBy(operator))
					case step.to == 0:
						remove(ctx, g)
					default:
						changeManifests(ctx, g, configMaps("cm", step.to, "b"))
					}
					runUntilCrash(ctx, operator, options, &crash{
						counts: writesTo(namespace, cut.resource), after: after,
						unanswered: after > 0,
					})
					if !isAbsent(ctx, g) {
						recorded := inventoryOfGadget(ctx, g)
						for name := range ownedConfigMaps(ctx, operator, namespace) {
							Expect(recorded).To(HaveKey(name), "an existing dependent is missing in the inventory that the status names")
						}
					}

					mark := markAudit(ctx)
					runOperator(operator, options)
					if step.to == 0 {
						expectNotFound(ctx, g)
						Expect(countConfigMaps(ctx, namespace)).To(BeZero())
						Expect(inventories(ctx, namespace)).To(BeEmpty())
						return
					}
					expectReady(ctx, g)
					settle(ctx, operator)
					Expect(inventoryOfGadget(ctx, g)).To(And(HaveLen(step.to), Equal(ownedConfigMaps(ctx, operator, namespace))))
					wanted := []string{}
					if record := current(ctx, g).Status.InventoryRecord; record != nil && record.Name != "" {
						wanted = append(wanted, record.Name+"-0")
					}
					Eventually(ctx, func() []string { return namesOf(inventories(ctx, namespace)) }).Should(ConsistOf(wanted),
						"the records that the crashed operator left were not deleted")
					remove(ctx, g)
					expectNotFound(ctx, g)
					Expect(inventories(ctx, namespace)).To(BeEmpty(), "the records were not deleted with the component")
					if step.from == 0 {
						return // If only the finalizer exists, the next operator searches for dependents.
					}
					searched := auditEvents(ctx)[mark:].UserAgent(userAgent(operator)).Verb("list").Resource("endpoints")
					Expect(verbs(searched)).To(BeEmpty(),
						"the operator searched for dependents by their labels, although the inventory is recorded")
				})
			}
		}
	}
})

// runUntilCrash runs an operator that crashes, and returns when it has ended.
func runUntilCrash(ctx context.Context, operator string, o operatorOptions, c *crash) {
	GinkgoHelper()
	o.transport = c.wrap
	stop := runOperator(operator, o)
	Eventually(ctx, c.crashed.Load).Should(BeTrue(), "the operator did not make enough writes to reach the crash")
	stop()
}
