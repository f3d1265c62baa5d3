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
	"github.com/fairlead-io/fairlead/test/gadget"
)

// slowCalls lets each call to a cloud take a few milliseconds, and counts how many are made at the same time.
type slowCalls struct {
	active, most, creates atomic.Int64
	// held holds all creates except the first ones, until it is closed.
	held  chan struct{}
	first int64
}

func (s *slowCalls) fault(call componenttest.CloudCall) componenttest.CloudFault {
	now := s.active.Add(1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); {
		most = s.most.Load()
	}
	wait := make(chan struct{})
	end := func() { s.active.Add(-1); close(wait) }
	if call.Method == "Create" && s.creates.Add(1) > s.first {
		go func() { <-s.held; end() }()
	} else {
		time.AfterFunc(5*time.Millisecond, end)
	}
	return componenttest.CloudFault{Wait: wait}
}

// liveHeap returns the size of the live objects on the heap.
func liveHeap() float64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// median returns the median of an odd number of durations.
func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

var _ = Describe("Many externals:", slow, func() {
	const (
		count = 1000
		rate  = 200
		burst = 20
		poll  = 2 * time.Second
		// atOnce is the number of calls that the account permits at the same time.
		atOnce = 4
	)
	calls := func(cloud *componenttest.Cloud) int {
		return cloud.Calls("Create") + cloud.Calls("Observe") + cloud.Calls("List") + cloud.Calls("Update")
	}
	// budget is the largest number of calls in a time since a moment.
	budget := func(since time.Time) float64 { return burst + rate*time.Since(since).Seconds() + atOnce }

	// expectPolled checks the calls in the time of several polls.
	type expectPolled func(cloud *componenttest.Cloud)
	oneByOne := func(cloud *componenttest.Cloud) {
		before, observed, since := calls(cloud), cloud.Calls("Observe"), time.Now()
		Eventually(func() int { return cloud.Calls("Observe") }).Should(BeNumerically(">=", observed+3*rate))
		Expect(float64(calls(cloud) - before)).To(BeNumerically("<=", budget(since)))
	}
	listed := func(cloud *componenttest.Cloud) {
		lists, observed, since := cloud.Calls("List"), cloud.Calls("Observe"), time.Now()
		Eventually(func() int { return cloud.Calls("List") }).Should(BeNumerically(">=", lists+4))
		// A list shows all externals whose polls are due in the next half of the time between two polls. One list may be
		// late, because others work on this machine, and then the next follows it sooner.
		Expect(float64(cloud.Calls("List") - lists)).To(BeNumerically("<=", 2+2.2*time.Since(since).Seconds()/poll.Seconds()))
		Expect(cloud.Calls("Observe") - observed).To(BeZero())
	}

	DescribeTable("1,000 externals of an account keep to its limits, and block no worker", func(ctx SpecContext,
		kind string, polled expectPolled,
	) {
		limits := quick
		limits.Rate, limits.Burst, limits.Concurrency, limits.Poll, limits.Timeout = rate, burst, atOnce, poll, time.Minute
		cloud, slow := componenttest.NewCloud(), &slowCalls{held: make(chan struct{}), first: count / 2}
		cloud.SetFault(slow.fault)
		things := componenttest.Things{Cloud: cloud}
		operator, idle, namespace := newOperatorName(), newOperatorName(), newNamespace(ctx)
		for _, name := range []string{operator, idle} {
			one := component.Limits{MaxConcurrentReconciles: 1}
			runOperator(name, operatorOptions{component: component.Options{Limits: one, Externals: []external.Driver{
				external.Of("Thing", things, limits), external.Of("ListedThing", componenttest.ListedThings{Things: things},
					limits),
			}}})
		}
		// ready returns the time until a component of ConfigMaps is ready.
		var beside []*gadget.Gadget
		ready := func(operator, name string) time.Duration {
			GinkgoHelper()
			began := time.Now()
			g := newGadget(ctx, namespace, name, configMaps(name, 20, "a"), servedBy(operator))
			beside = append(beside, g)
			Eventually(ctx, func() string { return condition(current(ctx, g), "Ready") }).
				WithPolling(2 * time.Millisecond).Should(HavePrefix("True Ready"))
			return time.Since(began)
		}
		ready(operator, "warm")
		ready(idle, "warm-idle")
		before := liveHeap()

		var text strings.Builder
		for i := range count {
			text.WriteString(thing(kind, fmt.Sprintf("thing-%04d", i), "a"))
		}
		began := time.Now()
		many := newGadget(ctx, namespace, "many", text.String(), servedBy(operator))
		Eventually(func() int { return cloud.Effects("Create") }).Should(BeNumerically(">", count/20))
		// The only worker is free while all other creates are held. An operator without externals measures the machine at
		// the same time; the report contains both times.
		besides, alone := make([]time.Duration, 7), make([]time.Duration, 7)
		for i := range besides {
			besides[i] = ready(operator, fmt.Sprintf("beside-%d", i))
			alone[i] = ready(idle, fmt.Sprintf("alone-%d", i))
		}
		Expect(cloud.Effects("Create")).To(BeNumerically("<=", count/2))
		close(slow.held)
		expectReadyLater(ctx, many)
		elapsed := time.Since(began)

		Expect(cloud.Effects("Create")).To(Equal(count))
		Expect(slow.most.Load()).To(BeNumerically("<=", atOnce))
		Expect(float64(calls(cloud))).To(BeNumerically("<=", budget(began)))
		for _, g := range beside {
			remove(ctx, g)
		}
		for _, g := range beside {
			expectNotFound(ctx, g)
		}
		settle(ctx, operator)
		var perExternal float64
		Eventually(func() float64 {
			perExternal = (liveHeap() - before) / count / 1024 // A pass needs more for a moment.
			return perExternal
		}).Should(BeNumerically("<", 20), "KiB of memory")
		AddReportEntry(fmt.Sprintf("1,000 externals: ready after %s, %.1f KiB each; 20 ConfigMaps, median of 7: %s "+
			"alone, %s beside",
			elapsed, perExternal, median(alone), median(besides)))
		polled(cloud)
		Expect(slow.most.Load()).To(BeNumerically("<=", atOnce))
	},
		Entry("observed one by one", "Thing", expectPolled(oneByOne), SpecTimeout(5*time.Minute)),
		Entry("observed by a list", "ListedThing", expectPolled(listed), SpecTimeout(5*time.Minute)),
	)
})

// expectReadyLater waits longer than usual until a component is ready.
func expectReadyLater(ctx context.Context, g *gadget.Gadget) {
	GinkgoHelper()
	Eventually(ctx, func() string { return condition(current(ctx, g), "Ready") }).
		WithTimeout(3 * time.Minute).Should(HavePrefix("True Ready"))
}
