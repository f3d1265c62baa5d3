package conformance_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// settling is a kind whose externals are polled rarely while their value is "settled".
type settling struct{ componenttest.Things }

func (settling) PollAfter(t componenttest.Thing) time.Duration {
	if t.Value == "settled" {
		return time.Hour
	}
	return 0
}

// forgetful is a kind whose system accepts a deletion, and forgets it several times.
type forgetful struct {
	componenttest.Things
	forgets *atomic.Int64
}

func (k forgetful) Delete(ctx context.Context, r thingRef) error {
	if k.forgets.Add(-1) >= 0 {
		return nil
	}
	return k.Things.Delete(ctx, r)
}

// callCounts counts the calls to a cloud by method and id.
type callCounts struct {
	mu    sync.Mutex
	calls map[string]int
}

func (c *callCounts) follow(cloud *componenttest.Cloud) {
	c.calls = map[string]int{}
	cloud.SetFault(func(call componenttest.CloudCall) componenttest.CloudFault {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.calls[call.Method+" "+call.ID]++
		return componenttest.CloudFault{}
	})
}

func (c *callCounts) of(call string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[call]
}

var _ = Describe("Options and optional methods of externals:", func() {
	var (
		cloud               *componenttest.Cloud
		operator, namespace string
	)
	BeforeEach(func(ctx SpecContext) {
		cloud, operator, namespace = componenttest.NewCloud(), newOperatorName(), newNamespace(ctx)
	})
	run := func(kinds ...external.Driver) (stop func()) {
		return runOperator(operator, operatorOptions{component: component.Options{Externals: append(cloudKinds(cloud), kinds...)}})
	}
	set := func(name, value string) string { return fmt.Sprintf("%s/%s: %q", operator, name, value) }

	It("PollAfter delays the next poll of an external, until its spec changes", func(ctx SpecContext) {
		run(external.Of("SettlingThing", settling{componenttest.Things{Cloud: cloud}}, quick))
		counts := &callCounts{}
		counts.follow(cloud)
		text := thing("SettlingThing", "slow", "settled") + thing("SettlingThing", "quick", "a")
		g := newGadget(ctx, namespace, "app", text, servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		polls := map[string]func() int{}
		for _, t := range cloud.Things() {
			polls[t.Value] = func() int { return counts.of("Observe " + t.ID) }
		}
		slow, soon := polls["settled"](), polls["a"]()
		Eventually(polls["a"]).Should(BeNumerically(">", soon+10))
		Expect(polls["settled"]()).To(BeNumerically("<=", slow+1), "a poll that was due before the answer may still be made")

		changeManifests(ctx, g, strings.Replace(text, `"settled"`, `"b"`, 1))
		Eventually(polls["settled"]).Should(BeNumerically(">", slow+10))
	})

	It("Account separates the limits of external systems: one that hangs does not hold up another one", func(ctx SpecContext) {
		limits := quick
		limits.Concurrency, limits.Timeout = 1, time.Minute
		limits.Account = func(r thingRef) string { return r.Spec.Value }
		run(external.Of("RegionalThing", componenttest.NamedThings{Things: componenttest.Things{Cloud: cloud}}, limits))
		hanging := make(chan struct{})
		cloud.SetFault(func(call componenttest.CloudCall) componenttest.CloudFault {
			if call.Method == "Create" && call.ID == "far" {
				return componenttest.CloudFault{Wait: hanging}
			}
			return componenttest.CloudFault{}
		})
		in := func(name, region string) string {
			return strings.TrimSuffix(thing("RegionalThing", name, region), "}\n") + ", name: " + name + "}\n"
		}
		far := newGadget(ctx, namespace, "far", in("far", "east")+in("far-too", "east"), servedBy(operator))
		Eventually(func() int { return cloud.Calls("Create") }).Should(Equal(1))
		near := newGadget(ctx, namespace, "near", in("near", "west"), servedBy(operator))
		expectReady(ctx, near)
		Expect(cloud.Things()).To(HaveLen(1), "the second external of the account that hangs waits")
		close(hanging)
		expectReady(ctx, far)
	})

	It("an external whose system forgets the deletion is deleted again, and its component stays until it is gone", func(ctx SpecContext) {
		forgets := &atomic.Int64{}
		run(external.Of("ForgetfulThing", forgetful{componenttest.Things{Cloud: cloud}, forgets}, quick))
		g := newGadget(ctx, namespace, "app", configMap("base", "x", settingOf(operator, "order", "-1"))+"\n"+thing("ForgetfulThing", "one", "a"), servedBy(operator))
		expectReady(ctx, g)
		forgets.Store(1)
		remove(ctx, g)
		Eventually(forgets.Load).Should(BeZero())
		settle(ctx, operator)
		Expect(current(ctx, g).DeletionTimestamp).NotTo(BeNil())
		Expect(cloud.Things()).To(HaveLen(1))
		Expect(stateSecrets(ctx, namespace)).NotTo(BeEmpty())
		Expect(configMapExists(ctx, namespace, "base")).To(BeTrue(), "it is deleted after the external")

		By("waiting for the second call, which is made half a minute later")
		Eventually(ctx, cloud.Things).WithTimeout(2 * time.Minute).Should(BeEmpty())
		expectGone(ctx, g)
		Expect(forgets.Load()).To(BeEquivalentTo(-1), "the number of calls is 2")
		Expect(stateSecrets(ctx, namespace)).To(BeEmpty())
	}, SpecTimeout(4*time.Minute))

	It("the timeout of a wait for an external goes on over a restart, and the wait ends when the external is ready", func(ctx SpecContext) {
		cloud.Put(componenttest.Thing{ID: "base", Value: "a", Phase: "Starting"})
		stop := run()
		waits := func(timeout string) []string {
			return []string{set("depends-on", "NamedThing.external.fairlead.io base"), set("depends-on-timeout", timeout)}
		}
		g := newGadget(ctx, namespace, "app", thing("NamedThing", "base", "a", set("reconcile-policy", "observe"))+
			thing("NamedThing", "late", "b", waits("7s")...)+thing("NamedThing", "later", "c", waits("1h")...), servedBy(operator))
		Eventually(ctx, func() string { return entryOf(ctx, g, "later").HeldSince }).ShouldNot(BeEmpty())
		late, later := entryOf(ctx, g, "late").HeldSince, entryOf(ctx, g, "later").HeldSince
		stop()
		run()
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True DependentFailed"), ContainSubstring("NamedThing.external.fairlead.io late"),
			ContainSubstring("its dependencies are not ready within 7s: waits for NamedThing.external.fairlead.io base: its phase is Starting")))
		Expect([]string{entryOf(ctx, g, "late").HeldSince, entryOf(ctx, g, "later").HeldSince}).To(Equal([]string{late, later}), "the start of the wait is recorded")
		Expect(cloud.Calls("Create")).To(BeZero())

		cloud.Put(componenttest.Thing{ID: "base", Value: "a"})
		expectReady(ctx, g)
		Expect(cloud.Things()).To(HaveLen(3))
	})
})
