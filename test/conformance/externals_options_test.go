package conformance_test

import (
	"bytes"
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

// stateful is a kind whose Create returns a state. It counts the calls that get this state, and those that get another
// one.
type stateful struct {
	componenttest.Things

	same, other *callCounts
}

// stateFor is the state of the thing with an id: bytes that are no text.
func stateFor(id string) []byte { return []byte("\x00\xff of " + id) }

func (k stateful) check(method string, r thingRef) {
	counts := k.other
	if bytes.Equal(r.State, stateFor(r.ID)) {
		counts = k.same
	}
	counts.add(method)
}

func (k stateful) Create(ctx context.Context, r thingRef) (thingCreated, error) {
	created, err := k.Things.Create(ctx, r)
	created.State = stateFor(created.ID)
	return created, err
}

func (k stateful) Observe(ctx context.Context, r thingRef) (componenttest.Thing, error) {
	k.check("Observe", r)
	return k.Things.Observe(ctx, r)
}

func (k stateful) Update(ctx context.Context, r thingRef, t componenttest.Thing) (componenttest.Thing, error) {
	k.check("Update", r)
	return k.Things.Update(ctx, r, t)
}

func (k stateful) Delete(ctx context.Context, r thingRef) error {
	k.check("Delete", r)
	return k.Things.Delete(ctx, r)
}

// plain is a kind without a Matcher.
type plain struct{ things componenttest.Things }

func (k plain) Observe(ctx context.Context, r thingRef) (componenttest.Thing, error) {
	return k.things.Observe(ctx, r)
}

func (k plain) Create(ctx context.Context, r thingRef) (thingCreated, error) {
	return k.things.Create(ctx, r)
}

func (k plain) Update(ctx context.Context, r thingRef, t componenttest.Thing) (componenttest.Thing, error) {
	return k.things.Update(ctx, r, t)
}

func (k plain) Delete(ctx context.Context, r thingRef) error { return k.things.Delete(ctx, r) }

// caseless is a kind that ignores the case of values.
type caseless struct{ plain }

func (caseless) Match(spec componenttest.ThingSpec, observed componenttest.Thing) string {
	if !strings.EqualFold(spec.Value, observed.Value) {
		return "spec.value"
	}
	return ""
}

// regional is a kind whose systems are selected by the Secret that an external references.
type regional struct {
	clouds map[string]*componenttest.Cloud
}

func (k regional) in(r thingRef) (componenttest.Things, error) {
	address, err := r.References.OnlySecret("address")
	if err != nil {
		return componenttest.Things{}, external.Refused(err)
	}
	return componenttest.Things{Cloud: k.clouds[address]}, nil
}

func (k regional) Observe(ctx context.Context, r thingRef) (componenttest.Thing, error) {
	things, err := k.in(r)
	if err != nil {
		return componenttest.Thing{}, err
	}
	return things.Observe(ctx, r)
}

func (k regional) Create(ctx context.Context, r thingRef) (thingCreated, error) {
	things, err := k.in(r)
	if err != nil {
		return thingCreated{}, err
	}
	return things.Create(ctx, r)
}

func (k regional) Update(ctx context.Context, r thingRef, t componenttest.Thing) (componenttest.Thing, error) {
	things, err := k.in(r)
	if err != nil {
		return componenttest.Thing{}, err
	}
	return things.Update(ctx, r, t)
}

func (k regional) Delete(ctx context.Context, r thingRef) error {
	things, err := k.in(r)
	if err != nil {
		return err
	}
	return things.Delete(ctx, r)
}

// callCounts counts the calls to a cloud by method and id.
type callCounts struct {
	mu    sync.Mutex
	calls map[string]int
}

func (c *callCounts) follow(cloud *componenttest.Cloud) {
	cloud.SetFault(func(call componenttest.CloudCall) componenttest.CloudFault {
		c.add(call.Method + " " + call.ID)
		return componenttest.CloudFault{}
	})
}

func (c *callCounts) add(call string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[string]int{}
	}
	c.calls[call]++
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
		return runOperator(operator,
			operatorOptions{component: component.Options{Externals: append(cloudKinds(cloud), kinds...)}})
	}
	// runWorker runs an operator that makes one pass at a time.
	runWorker := func(kind external.Driver) {
		runOperator(operator, operatorOptions{component: component.Options{
			Externals: []external.Driver{kind}, Limits: component.Limits{MaxConcurrentReconciles: 1},
		}})
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

	It("the state that Create returns is kept, and each later call gets it, also after a restart", func(ctx SpecContext) {
		same, other := &callCounts{}, &callCounts{}
		kind := func() external.Driver {
			return external.Of("StatefulThing", stateful{componenttest.Things{Cloud: cloud}, same, other}, quick)
		}
		stop := run(kind())
		g := newGadget(ctx, namespace, "app", thing("StatefulThing", "one", "a"), servedBy(operator))
		expectReady(ctx, g)
		Eventually(func() int { return same.of("Observe") }).Should(BeNumerically(">", 1))
		stop()
		observed := same.of("Observe")
		run(kind())
		Eventually(func() int { return same.of("Observe") }).Should(BeNumerically(">", observed))
		changeManifests(ctx, g, thing("StatefulThing", "one", "b"))
		Eventually(func() int { return same.of("Update") }).Should(BeNumerically(">", 0))
		expectReady(ctx, g)

		By("replacing it after somebody removed it")
		cloud.Remove(cloud.Things()[0].ID)
		Eventually(ctx, cloud.Things).Should(ConsistOf(HaveField("ID", "thing-2")))
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(same.of("Delete")).To(BeNumerically(">", 0))
		Expect(cloud.Things()).To(BeEmpty())
		Expect(other.calls).To(BeEmpty(), "calls with another state")
	})

	DescribeTable("an external is compared", func(ctx SpecContext, kind, harmless string) {
		things := plain{componenttest.Things{Cloud: cloud}}
		run(external.Of("PlainThing", things, quick), external.Of("CaselessThing", caseless{things}, quick))
		g := newGadget(ctx, namespace, "app", thing(kind, "one", "a"), servedBy(operator))
		expectReady(ctx, g)
		made := cloud.Things()[0]

		By("changing what makes no difference")
		made.Value, made.Phase = harmless, "of others"
		cloud.Put(made)
		observed := cloud.Calls("Observe")
		Eventually(func() int { return cloud.Calls("Observe") }).Should(BeNumerically(">", observed+10))
		Expect(cloud.Calls("Update")).To(BeZero())
		expectReady(ctx, g)

		By("changing what makes a difference")
		made.Value = "b"
		cloud.Put(made)
		Eventually(ctx, cloud.Things).Should(ConsistOf(And(HaveField("Value", "a"), HaveField("Phase", "of others"))))
		expectReady(ctx, g)
		Expect(cloud.Calls("Update")).To(Equal(1))
	},
		Entry("by the fields that its spec sets; others make no difference", "PlainThing", "a"),
		Entry("by the own comparison of its kind", "CaselessThing", "A"),
	)

	It("externals of one kind are in the systems that each of them selects", func(ctx SpecContext) {
		clouds := map[string]*componenttest.Cloud{"https://east": componenttest.NewCloud(), "https://west": cloud}
		run(external.Of("RegionalThing", regional{clouds}, quick))
		text := ""
		for address := range clouds {
			region := strings.TrimPrefix(address, "https://")
			create(ctx,
				fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s}\nstringData: {address: %q}",
					region, namespace, address))
			text += thing("RegionalThing", "in-"+region, region) + "references: [{kind: Secret, name: " + region + "}]\n"
		}
		values := func() map[string][]string {
			found := map[string][]string{}
			for address, c := range clouds {
				for _, t := range c.Things() {
					found[address] = append(found[address], t.Value)
				}
			}
			return found
		}
		g := newGadget(ctx, namespace, "app", text, servedBy(operator))
		expectReady(ctx, g)
		Expect(values()).To(Equal(map[string][]string{"https://east": {"east"}, "https://west": {"west"}}))

		By("changing one of them, and removing the other one")
		changeManifests(ctx, g, strings.ReplaceAll(text, `"west"`, `"far west"`))
		Eventually(values).Should(Equal(map[string][]string{"https://east": {"east"}, "https://west": {"far west"}}))
		clouds["https://east"].Remove(clouds["https://east"].Things()[0].ID)
		Eventually(values).Should(Equal(map[string][]string{"https://east": {"east"}, "https://west": {"far west"}}))
		expectReady(ctx, g)
		Expect(cloud.Calls("Create")).To(Equal(1))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(values()).To(BeEmpty())
	})

	It("Account separates the limits of external systems: one that hangs holds up neither another one "+
		"nor a worker", func(ctx SpecContext) {
		limits := quick
		limits.Concurrency, limits.Timeout = 1, time.Minute
		limits.Account = func(r thingRef) string { return r.Spec.Value }
		// The only worker is free while calls hang.
		runWorker(external.Of("RegionalThing", componenttest.NamedThings{Things: componenttest.Things{Cloud: cloud}}, limits))
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
		expectReady(ctx, newGadget(ctx, namespace, "beside", configMaps("cm", 1, "a"), servedBy(operator)))
		Expect(cloud.Things()).To(HaveLen(1), "the second external of the account that hangs waits")
		close(hanging)
		expectReady(ctx, far)
	})

	It("an external whose system forgets the deletion is deleted again, and its component stays until then",
		slow, func(ctx SpecContext) {
			forgets := &atomic.Int64{}
			run(external.Of("ForgetfulThing", forgetful{componenttest.Things{Cloud: cloud}, forgets}, quick))
			g := newGadget(ctx, namespace, "app", configMap("base", "x", settingOf(operator, "order", "-1"))+"\n"+
				thing("ForgetfulThing", "one", "a"), servedBy(operator))
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
			expectNotFound(ctx, g)
			Expect(forgets.Load()).To(BeEquivalentTo(-1), "the number of calls is 2")
			Expect(stateSecrets(ctx, namespace)).To(BeEmpty())
		}, SpecTimeout(4*time.Minute))

	It("the timeout of a wait for an external goes on over a restart, and the wait ends when the "+
		"external is ready", func(ctx SpecContext) {
		cloud.Put(componenttest.Thing{ID: "base", Value: "a", Phase: "Starting"})
		stop := run()
		waits := func(timeout string) []string {
			return []string{set("depends-on", "NamedThing.external.fairlead.io base"), set("depends-on-timeout", timeout)}
		}
		g := newGadget(ctx, namespace, "app", thing("NamedThing", "base", "a", set("reconcile-policy", "observe"))+
			thing("NamedThing", "late", "b", waits("7s")...)+thing("NamedThing", "later", "c", waits("1h")...),
			servedBy(operator))
		Eventually(ctx, func() string { return entryOf(ctx, g, "later").HeldSince }).ShouldNot(BeEmpty())
		late, later := entryOf(ctx, g, "late").HeldSince, entryOf(ctx, g, "later").HeldSince
		stop()
		run()
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True DependentFailed"), ContainSubstring("NamedThing.external.fairlead.io late"),
				ContainSubstring("its dependencies are not ready within 7s: waits for NamedThing.external.fairlead.io base: its "+
					"phase is Starting")))
		Expect([]string{entryOf(ctx, g, "late").HeldSince, entryOf(ctx, g, "later").HeldSince}).
			To(Equal([]string{late, later}), "the start of the wait is recorded")
		Expect(cloud.Calls("Create")).To(BeZero())

		cloud.Put(componenttest.Thing{ID: "base", Value: "a"})
		expectReady(ctx, g)
		Expect(cloud.Things()).To(HaveLen(3))
	})
})
