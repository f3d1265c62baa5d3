package conformance_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
)

var _ = Describe("Many externals:", func() {
	It("1,000 externals of an account keep to its limits, are listed with one call, and block no worker", func(ctx SpecContext) {
		const count = 1000
		limits := quick
		limits.Rate, limits.Burst, limits.Concurrency, limits.Poll = 200, 20, 4, time.Second
		cloud, operator, namespace := componenttest.NewCloud(), newOperatorName(), newNamespace(ctx)
		var active, most atomic.Int64
		cloud.SetFault(func(componenttest.CloudCall) componenttest.CloudFault {
			if now := active.Add(1); now > most.Load() {
				most.Store(now)
			}
			wait := make(chan struct{})
			time.AfterFunc(5*time.Millisecond, func() { active.Add(-1); close(wait) })
			return componenttest.CloudFault{Wait: wait}
		})
		runOperator(operator, operatorOptions{component: component.Options{Externals: []external.Driver{
			external.Of("ListedThing", componenttest.ListedThings{Things: componenttest.Things{Cloud: cloud}}, limits),
		}}})
		// ready returns the median time until a component of ConfigMaps is ready.
		ready := func(name string) time.Duration {
			GinkgoHelper()
			times := make([]time.Duration, 7)
			for i := range times {
				name, began := fmt.Sprintf("%s-%d", name, i), time.Now()
				g := newGadget(ctx, namespace, name, configMaps(name, 20, "a"), servedBy(operator))
				Eventually(ctx, func() string { return condition(current(ctx, g), "Ready") }).
					WithPolling(2 * time.Millisecond).Should(HavePrefix("True Ready"))
				times[i] = time.Since(began)
			}
			slices.Sort(times)
			return times[len(times)/2]
		}
		heap := func() uint64 {
			var stats runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&stats)
			return stats.HeapAlloc
		}
		ready("warm")
		alone, before := ready("alone"), heap()

		var text strings.Builder
		for i := range count {
			text.WriteString(thing("ListedThing", fmt.Sprintf("thing-%04d", i), "a"))
		}
		began := time.Now()
		many := newGadget(ctx, namespace, "many", text.String(), servedBy(operator))
		Eventually(func() int { return cloud.Effects("Create") }).Should(BeNumerically(">", count/20))
		beside := ready("beside")
		Expect(cloud.Effects("Create")).To(BeNumerically("<", count), "the externals were created too early for this test")
		eventuallyReady(ctx, many.Name, func() string { return condition(current(ctx, many), "Ready") })
		elapsed := time.Since(began)

		Expect(cloud.Effects("Create")).To(Equal(count))
		Expect(beside).To(BeNumerically("<", 5*alone+2*time.Second), "alone it was ready after %s", alone)
		Expect(most.Load()).To(BeNumerically("<=", 4))
		calls := func() int {
			return cloud.Calls("Create") + cloud.Calls("Observe") + cloud.Calls("List") + cloud.Calls("Update")
		}
		Expect(float64(calls())).To(BeNumerically("<=", 20+200*elapsed.Seconds()))
		settle(ctx, operator)
		perExternal := (float64(heap()) - float64(before)) / count / 1024
		AddReportEntry(fmt.Sprintf("1,000 externals: ready after %s, %.1f KiB each; 20 ConfigMaps, median of 7: %s alone, %s beside", elapsed, perExternal, alone, beside))

		lists, observed, since := cloud.Calls("List"), cloud.Calls("Observe"), time.Now()
		Eventually(func() int { return cloud.Calls("List") }).Should(BeNumerically(">=", lists+3))
		perSecond := float64(cloud.Calls("List")-lists) / time.Since(since).Seconds()
		Expect(perSecond).To(BeNumerically("<", 20), "lists in a second")
		Expect(cloud.Calls("Observe") - observed).To(BeNumerically("<", count/10))
	}, SpecTimeout(5*time.Minute))
})

// eventuallyReady waits longer than usual until a component is ready.
func eventuallyReady(ctx context.Context, name string, ready func() string) {
	GinkgoHelper()
	Eventually(ctx, ready).WithTimeout(3*time.Minute).Should(HavePrefix("True Ready"), name)
}
