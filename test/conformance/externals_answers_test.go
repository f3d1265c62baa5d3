package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// sizedSpec has a field that is no text.
type sizedSpec struct {
	Size int `json:"size"`
}

type sizedRef = external.Ref[sizedSpec]

// sized is a kind whose spec has a number.
type sized struct{ things componenttest.Things }

func (k sized) ref(r sizedRef) thingRef {
	return thingRef{ID: r.ID, Token: r.Token, Spec: componenttest.ThingSpec{Value: strconv.Itoa(r.Spec.Size)}}
}

func (k sized) of(t componenttest.Thing, err error) (sizedSpec, error) {
	size, _ := strconv.Atoi(t.Value)
	return sizedSpec{Size: size}, err
}

func (k sized) Observe(ctx context.Context, r sizedRef) (sizedSpec, error) {
	return k.of(k.things.Observe(ctx, k.ref(r)))
}

func (k sized) Create(ctx context.Context, r sizedRef) (external.Created[sizedSpec], error) {
	created, err := k.things.Create(ctx, k.ref(r))
	return external.Created[sizedSpec]{ID: created.ID, Observed: r.Spec}, err
}

func (k sized) Update(ctx context.Context, r sizedRef, _ sizedSpec) (sizedSpec, error) {
	return k.of(k.things.Update(ctx, k.ref(r), componenttest.Thing{}))
}

func (k sized) Delete(ctx context.Context, r sizedRef) error { return k.things.Delete(ctx, k.ref(r)) }

// busiest counts the calls to a cloud at the same time. Each call takes a moment.
type busiest struct {
	mu           sync.Mutex
	active, most int
}

func (b *busiest) follow(cloud *componenttest.Cloud) {
	cloud.SetFault(func(componenttest.CloudCall) componenttest.CloudFault {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.active++
		b.most = max(b.most, b.active)
		ended := make(chan struct{})
		time.AfterFunc(20*time.Millisecond, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.active--
			close(ended)
		})
		return componenttest.CloudFault{Wait: ended}
	})
}

var _ = Describe("Answers about externals:", func() {
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
	set := func(name, value string) string { return fmt.Sprintf("%s/%s: %q", operator, name, value) }

	It("an external with bound values is compared with these values, so it is neither updated nor reported with a repair "+
		"conflict at rest", func(ctx SpecContext) {
		run()
		g := newGadget(ctx, namespace, "app", thing("Thing", "source", "first", set("export", "value=self.status.value"))+
			thing("NamedThing", "bound", "${{ value }}", set("bind", "true")), servedBy(operator))
		expectReady(ctx, g)
		observed := cloud.Calls("Observe")
		Eventually(func() int { return cloud.Calls("Observe") }).Should(BeNumerically(">", observed+20))
		Expect(cloud.Calls("Update")).To(BeZero())
		Expect(condition(current(ctx, g), "RepairConflict")).To(BeEmpty())

		By("a drift is repaired to the bound value")
		cloud.Put(componenttest.Thing{ID: "bound", Value: "wrong"})
		Eventually(func() []componenttest.Thing { return cloud.Things() }).Should(ContainElement(HaveField("Value", "first")))
		Eventually(func() int { return cloud.Calls("Update") }).Should(Equal(1))
	})

	It("a hole that is the whole field keeps its type, in a field that is no text", func(ctx SpecContext) {
		run(external.Of("SizedThing", sized{componenttest.Things{Cloud: cloud}}, external.Options[sizedSpec]{
			Poll:   quick.Poll,
			Settle: quick.Settle,
		}))
		g := newGadget(ctx, namespace, "app",
			configMap("source", "7", settingOf(operator, "export", "size=int(self.data.value)"))+
				"\n---\napiVersion: external.fairlead.io/v1\nkind: SizedThing\nmetadata: {name: one, annotations: {"+
				settingOf(operator, "bind", "true")+"}}\n"+
				"spec: {size: \"${{ size }}\"}\n", servedBy(operator))
		expectReady(ctx, g)
		Expect(cloud.Things()).To(ConsistOf(HaveField("Value", "7")))
	})

	It("a number that a double cannot represent reaches the handler and other objects "+
		"without a change", func(ctx SpecContext) {
		const large = "9007199254740993" // 2^53 + 1
		run(external.Of("SizedThing", sized{componenttest.Things{Cloud: cloud}}, external.Options[sizedSpec]{
			Poll:   quick.Poll,
			Settle: quick.Settle,
		}))
		g := newGadget(ctx, namespace, "app",
			"apiVersion: external.fairlead.io/v1\nkind: SizedThing\nmetadata: {name: one, annotations: {"+
				settingOf(operator, "export", "size=self.status.size")+"}}\nspec: {size: "+large+"}\n---\n"+
				configMap("bound", "${{ size }}", settingOf(operator, "bind", "true")), servedBy(operator))
		expectReady(ctx, g)
		Expect(cloud.Things()).To(ConsistOf(HaveField("Value", large)))
		Expect(cloud.Calls("Update")).To(BeZero())
		Expect(valueOf(ctx, namespace, "bound")()).To(Equal(large))
	})

	DescribeTable("an id that a person gives, and that does not exist, creates nothing: the person "+
		"is asked again", func(ctx SpecContext, restart bool) {
		cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			if c.Method == "Create" {
				return componenttest.CloudFault{After: errors.New("connection reset")}
			}
			return componenttest.CloudFault{}
		})
		stop := run()
		g := newGadget(ctx, namespace, "app", thing("Thing", "one", "a"), servedBy(operator))
		expectCondition(ctx, g, "Stalled", HavePrefix("True CreateUncertain"))
		made := cloud.Things()[0]
		answer := func(id string) {
			GinkgoHelper()
			patch(ctx, g, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, operator+"/resolve-external",
				fmt.Sprintf(`{"Thing/one":{"token":%q,"id":%q}}`, made.Token, id)))
		}

		answer("thing-7261")
		asked := And(HavePrefix("True CreateUncertain"), ContainSubstring("thing-7261"), ContainSubstring("does not exist"),
			ContainSubstring("token "+made.Token), ContainSubstring("/app Thing/one --id ID, or --absent"))
		expectCondition(ctx, g, "Stalled", asked)
		if restart {
			stop()
			run()
			requestPass(ctx, g, operator)
			expectCondition(ctx, g, "Stalled", asked)
		}
		settle(ctx, operator)
		Expect(cloud.Calls("Create")).To(Equal(1))

		answer(made.ID)
		expectReady(ctx, g)
		Expect(cloud.Calls("Create")).To(Equal(1))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(cloud.Things()).To(BeEmpty())
	}, Entry("in the same process", false), Entry("also after a restart", true))

	DescribeTable("answers within the settle time after a create count for nothing, so one wrong answer after it is "+
		"not the second", func(ctx SpecContext, kind string, lost error) {
		slow := quick
		slow.Settle = 2 * time.Second
		things := componenttest.Things{Cloud: cloud}
		runOperator(operator, operatorOptions{component: component.Options{Externals: []external.Driver{
			external.Of("Thing", things, slow), external.Of("FindableThing", componenttest.FindableThings{Things: things}, slow),
		}}})
		var mu sync.Mutex
		var created time.Time
		var within, after int
		var doubtful bool
		cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case c.Method == "Create":
				created = time.Now()
				return componenttest.CloudFault{After: lost}
			case created.IsZero():
				return componenttest.CloudFault{}
			case time.Since(created) < slow.Settle:
				within++
				doubtful = time.Since(created) > slow.Settle/2 // On a busy machine it arrives after the settle time, and counts.
				return componenttest.CloudFault{Stale: true}
			}
			after++
			return componenttest.CloudFault{Stale: after == 1 && !doubtful}
		})
		g := newGadget(ctx, namespace, "app", thing(kind, "one", "a"), servedBy(operator))
		Eventually(func() int {
			mu.Lock()
			defer mu.Unlock()
			return after
		}).Should(BeNumerically(">", 5))
		expectReady(ctx, g)
		Expect(within).To(BeNumerically(">", 0))
		Expect(cloud.Calls("Create")).To(Equal(1))
	},
		Entry("an external with an id that the system allocated", "Thing", nil),
		Entry("an external that is searched, because the answer was lost", "FindableThing", errors.New("connection reset")),
	)

	It("two kinds that name the same account share its limits", func(ctx SpecContext) {
		limits := quick
		limits.Concurrency = 1
		limits.Account = func(thingRef) string { return "system" }
		run(external.Of("FirstThing", componenttest.Things{Cloud: cloud}, limits),
			external.Of("SecondThing", componenttest.Things{Cloud: cloud}, limits))
		calls := &busiest{}
		calls.follow(cloud)
		text := ""
		for i := range 8 {
			text += thing([]string{"FirstThing", "SecondThing"}[i%2], fmt.Sprintf("thing-%d", i), "a")
		}
		expectReady(ctx, newGadget(ctx, namespace, "app", text, servedBy(operator)))
		calls.mu.Lock()
		defer calls.mu.Unlock()
		Expect(calls.most).To(Equal(1))
	})

	DescribeTable("a create that fails without an answer again and again is repeated with a back-off, and its "+
		"error is shown", func(ctx SpecContext, kind string) {
		cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			if c.Method == "Create" {
				return componenttest.CloudFault{Before: errors.New("connection reset")}
			}
			return componenttest.CloudFault{}
		})
		run()
		g := newGadget(ctx, namespace, "app", thing(kind, "one", "a"), servedBy(operator))
		Eventually(func() int { return cloud.Calls("Create") }).Should(BeNumerically(">=", 5))
		Eventually(ctx, func() string { return fmt.Sprint(current(ctx, g).Status.Waiting) }).
			Should(ContainSubstring("connection reset"))
		before := cloud.Calls("Create")
		Consistently(func() int { return cloud.Calls("Create") }, 3*time.Second).Should(BeNumerically("<=", before+1))
	}, Entry("a kind that knows the id before", "NamedThing"), Entry("a kind that finds externals by their token",
		"FindableThing"))
})
