//go:build long

package conformance_test

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Many idle components:", Serial, func() {
	It("their large inventories need no more memory at the start than without the option, and hardly any after "+
		"the idle time", func(ctx SpecContext) {
		// COMPONENTS=1000 measures the figures of docs/performance.md.
		components, err := strconv.Atoi(cmp.Or(os.Getenv("COMPONENTS"), "200"))
		Expect(err).NotTo(HaveOccurred())
		const dependents, idle = 800, 40 * time.Second
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		model := newGadget(ctx, namespace, "model", configMaps(strings.Repeat("n", 200), dependents, "a"), servedBy(operator))
		Eventually(ctx, func() string { return condition(current(ctx, model), "Ready") }).
			WithTimeout(3 * time.Minute).WithPolling(time.Second).Should(HavePrefix("True Ready"))
		stop()
		status := current(ctx, model).Status
		size := 0
		for _, line := range status.Inventory {
			size += len(line)
		}
		Expect(size).To(BeNumerically("~", 256<<10, 32<<10))

		By("creating suspended components with the same inventory, because a machine cannot hold so many dependents")
		group, limited := errgroup.WithContext(ctx)
		group.SetLimit(8)
		for i := range components {
			group.Go(func() error {
				g := &gadget.Gadget{Spec: gadget.GadgetSpec{Suspend: true}}
				g.Namespace, g.Name = namespace, fmt.Sprint("g", i)
				servedBy(operator)(g)
				if err := k8s.Create(limited, g); err != nil {
					return err
				}
				g.Status = status
				return k8s.Status().Update(limited, g)
			})
		}
		Expect(group.Wait()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			for i := range components {
				g := &gadget.Gadget{}
				g.Namespace, g.Name = namespace, fmt.Sprint("g", i)
				patch(ctx, g, `{"metadata":{"finalizers":null}}`)
				remove(ctx, g)
			}
		}, NodeTimeout(5*time.Minute))
		start := func(options component.Options) (stop func()) {
			before := passes(operator)
			stop = runOperator(operator, operatorOptions{component: options})
			Eventually(ctx, func() int { return passes(operator) }).WithTimeout(3 * time.Minute).
				Should(BeNumerically(">=", before+components+1))
			settle(ctx, operator)
			return stop
		}
		start(component.Options{})() // Writes the conditions of the suspended components.

		By("measuring without the option")
		base := liveHeap()
		stop = start(component.Options{})
		without := liveHeap() - base
		stop()
		Expect(without).To(BeNumerically(">", float64(components*size)), "the inventories are not in the heap")

		By("measuring with the option, at the start and after the idle time")
		base = liveHeap()
		stop = start(component.Options{Limits: component.Limits{IdleInventory: component.NewIdleInventory(idle)}})
		atStart, last := liveHeap()-base, 0.0
		Expect(atStart).To(BeNumerically("<", 1.2*without))
		began := time.Now()
		Eventually(ctx, func() bool {
			last = liveHeap() - base
			return time.Since(began) > 2*idle+idle/4
		}).WithTimeout(3 * idle).WithPolling(time.Second).Should(BeTrue())
		AddReportEntry("heap in MiB",
			fmt.Sprintf("%d components of %d KiB: %.0f without the option, %.0f at the start, %.0f after the idle time",
				components, size>>10, without/(1<<20), atStart/(1<<20), last/(1<<20)))
		Expect(last).To(BeNumerically("<", without/5))
		stop()
	}, NodeTimeout(20*time.Minute))
})
