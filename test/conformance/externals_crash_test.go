package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// foreignThing belongs to another owner. No spec may change it.
var foreignThing = componenttest.Thing{ID: "foreign", Token: "of-another-owner", Value: "foreign"}

// ownThings returns the values of all things except the foreign one, which must be unchanged.
func ownThings(cloud *componenttest.Cloud) []string {
	GinkgoHelper()
	values, foreign := []string{}, 0
	for _, t := range cloud.Things() {
		if t == foreignThing {
			foreign++
			continue
		}
		values = append(values, t.Value)
	}
	Expect(foreign).To(Equal(1), "the thing of another owner was changed: %v", cloud.Things())
	return values
}

// uncertainText finds the kind, the name and the token in the message of an uncertain create.
var uncertainText = regexp.MustCompile(
	`token ([0-9a-f]{40}); .*fairlead external resolve (?:-n \S+ )?\S+ (\S+/\S+) --id`)

// resolveByCloud does what a person does if a component is stalled by uncertain creates: it looks into the cloud, and
// says what is there.
func resolveByCloud(ctx context.Context, g *gadget.Gadget, operator string, cloud *componenttest.Cloud) {
	GinkgoHelper()
	latest := &gadget.Gadget{}
	if k8s.Get(ctx, keyOf(g), latest) != nil {
		return
	}
	var texts []string
	for _, c := range latest.Status.Conditions {
		texts = append(texts, c.Message)
	}
	for _, w := range latest.Status.Waiting {
		texts = append(texts, w.Message)
	}
	answers := map[string]string{}
	for _, text := range texts {
		found := uncertainText.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		token, name := found[1], found[2]
		answer := fmt.Sprintf(`{"token":%q,"absent":true}`, token)
		for _, t := range cloud.Things() {
			if t.Token == token {
				answer = fmt.Sprintf(`{"token":%q,"id":%q}`, token, t.ID)
			}
		}
		answers[name] = answer
	}
	if len(answers) == 0 {
		return
	}
	var parts []string
	for name, answer := range answers {
		parts = append(parts, fmt.Sprintf("%q:%s", name, answer))
	}
	text := "{" + strings.Join(parts, ",") + "}"
	if latest.Annotations[operator+"/resolve-external"] != text {
		patch(ctx, latest, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, operator+"/resolve-external", text))
	}
}

// expectResolved waits until a component is ready. It resolves the uncertain creates as a person does.
func expectResolved(ctx context.Context, g *gadget.Gadget, operator string, cloud *componenttest.Cloud) {
	GinkgoHelper()
	Eventually(ctx, func() string {
		resolveByCloud(ctx, g, operator, cloud)
		return condition(current(ctx, g), metav1alpha1.ConditionReady)
	}).WithPolling(100 * time.Millisecond).Should(HavePrefix("True Ready"))
}

// expectDeleted deletes a component, resolves the uncertain creates, and waits until the component, its things and the
// Secret with the states no longer exist.
func expectDeleted(ctx context.Context, g *gadget.Gadget, operator string, cloud *componenttest.Cloud) {
	GinkgoHelper()
	if current(ctx, g).DeletionTimestamp == nil {
		remove(ctx, g)
	}
	Eventually(ctx, func() error {
		resolveByCloud(ctx, g, operator, cloud)
		return k8s.Get(ctx, keyOf(g), &gadget.Gadget{})
	}).WithPolling(100 * time.Millisecond).Should(MatchError(ContainSubstring("not found")))
	Expect(ownThings(cloud)).To(BeEmpty())
	Expect(stateSecrets(ctx, g.Namespace)).To(BeEmpty())
}

// killed is the moment at which an operator is killed.
type killed struct {
	// secret is the number of the write of a Secret with states: the operator is killed instead of this write, or, if
	// answered is set, when the API server has carried it out.
	secret   int64
	answered bool
	// status kills the operator when the API server has carried out the first write of the status with an inventory.
	status bool
	// call is a method of the cloud. effect is set if the call takes effect before the operator is killed. hang lets it
	// hang, and take effect later.
	call         string
	effect, hang bool
}

// kill runs an operator until it is killed. release ends a call that hangs, which takes effect then.
func (k killed) kill(ctx context.Context, operator, namespace string, cloud *componenttest.Cloud) (release func()) {
	GinkgoHelper()
	c := &crash{counts: func(*http.Request) bool { return false }}
	hanging := make(chan struct{})
	switch {
	case k.secret > 0:
		c.counts, c.after, c.unanswered = writesTo(namespace, "secrets"), k.secret-1, false
		if k.answered {
			c.after, c.unanswered = k.secret, true
		}
	case k.status:
		c.counts, c.after, c.unanswered = func(r *http.Request) bool {
			return r.Method != http.MethodGet && strings.HasSuffix(r.URL.Path, "/status")
		}, 1, true
	default:
		var once atomic.Bool
		cloud.SetFault(func(call componenttest.CloudCall) componenttest.CloudFault {
			if call.Method != k.call || once.Swap(true) {
				return componenttest.CloudFault{}
			}
			c.crashed.Store(true)
			switch lost := errors.New("connection reset"); {
			case k.hang:
				return componenttest.CloudFault{Wait: hanging}
			case k.effect:
				return componenttest.CloudFault{After: lost}
			default:
				return componenttest.CloudFault{Before: lost}
			}
		})
	}
	// The operator is not awaited: for a while, it tries to store the results of its calls.
	mgr := newManager(operator, operatorOptions{
		transport: c.wrap,
		component: component.Options{Externals: cloudKinds(cloud)},
	})
	life, stop := context.WithCancel(context.Background())
	DeferCleanup(stop)
	go func() { _ = mgr.Start(life) }()
	Eventually(ctx, c.crashed.Load).Should(BeTrue())
	stop()
	cloud.SetFault(nil)
	return func() { close(hanging) }
}

var _ = Describe("Crashes with externals:", slow, func() {
	everyKind := []string{"Thing", "FindableThing", "NamedThing", "RepeatableThing"}
	start := func(ctx context.Context, text string) (cloud *componenttest.Cloud, operator string, g *gadget.Gadget) {
		GinkgoHelper()
		cloud, operator = componenttest.NewCloud(), newOperatorName()
		cloud.Put(foreignThing)
		namespace := newNamespace(ctx)
		return cloud, operator, newGadget(ctx, namespace, "app", text, servedBy(operator))
	}
	// entries returns an entry for each kind and moment.
	entries := func(kinds []string, moments map[string]killed) []TableEntry {
		var all []TableEntry
		for _, kind := range kinds {
			for name, moment := range moments {
				all = append(all, Entry(kind+", killed "+name, kind, moment))
			}
		}
		return all
	}

	DescribeTable("a create is completed once", func(ctx SpecContext, kind string, moment killed) {
		cloud, operator, g := start(ctx, thing(kind, "one", "a"))
		release := moment.kill(ctx, operator, g.Namespace, cloud)
		if moment.hang && kind == "Thing" {
			// The person must not look before the call has taken effect.
			release()
			Eventually(func() []string { return ownThings(cloud) }).Should(Equal([]string{"a"}))
		}
		runCloud(cloud, operator)
		if moment.hang && kind != "Thing" {
			release()
		}
		expectResolved(ctx, g, operator, cloud)
		Expect(ownThings(cloud)).To(Equal([]string{"a"}))
		changeManifests(ctx, g, thing(kind, "one", "b"))
		Eventually(func() []string { return ownThings(cloud) }).Should(Equal([]string{"b"}))
		expectReady(ctx, g)
		Expect(cloud.Effects("Create")).To(Equal(1))
		expectDeleted(ctx, g, operator, cloud)
	}, entries(everyKind, map[string]killed{
		"before the intent is recorded":           {secret: 1},
		"after the intent is recorded":            {secret: 1, answered: true},
		"after the inventory is recorded":         {status: true},
		"during Create, which had no effect":      {call: "Create"},
		"during Create, whose answer is lost":     {call: "Create", effect: true},
		"during Create, which takes effect later": {call: "Create", hang: true},
		"after Create, before the id is recorded": {secret: 2},
		"after the id is recorded":                {secret: 2, answered: true},
	}))

	DescribeTable("an update is completed", func(ctx SpecContext, kind string, moment killed) {
		cloud, operator, g := start(ctx, thing(kind, "one", "a"))
		stop := runCloud(cloud, operator)
		expectReady(ctx, g)
		stop()
		changeManifests(ctx, g, thing(kind, "one", "b"))
		moment.kill(ctx, operator, g.Namespace, cloud)
		runCloud(cloud, operator)
		expectReady(ctx, g)
		Expect(ownThings(cloud)).To(Equal([]string{"b"}))
		Expect(cloud.Effects("Create")).To(Equal(1))
		Expect(cloud.Effects("Update")).To(Equal(1))
		expectDeleted(ctx, g, operator, cloud)
	}, entries(everyKind, map[string]killed{
		"during Update, which had no effect":            {call: "Update"},
		"during Update, whose answer is lost":           {call: "Update", effect: true},
		"after Update, before its manifest is recorded": {secret: 1},
		"after its manifest is recorded":                {secret: 1, answered: true},
	}))

	deletions := map[string]killed{
		"before the intent is recorded":                  {secret: 1},
		"after the intent is recorded":                   {secret: 1, answered: true},
		"during Delete, which had no effect":             {call: "Delete"},
		"during Delete, whose answer is lost":            {call: "Delete", effect: true},
		"after Delete, before the tombstone is recorded": {secret: 2},
		"after the tombstone is recorded":                {secret: 2, answered: true},
	}

	DescribeTable("a deletion is completed", func(ctx SpecContext, kind string, moment killed) {
		cloud, operator, g := start(ctx, thing(kind, "one", "a"))
		stop := runCloud(cloud, operator)
		expectReady(ctx, g)
		stop()
		remove(ctx, g)
		moment.kill(ctx, operator, g.Namespace, cloud)
		runCloud(cloud, operator)
		expectDeleted(ctx, g, operator, cloud)
		Expect(cloud.Effects("Delete")).To(Equal(1))
	}, entries(everyKind, deletions))

	renames := map[string]killed{}
	for n := int64(1); n <= 4; n++ {
		renames[fmt.Sprintf("before write %d of the states", n)] = killed{secret: n}
		renames[fmt.Sprintf("after write %d of the states", n)] = killed{secret: n, answered: true}
	}
	for _, call := range []string{"Create", "Delete"} {
		renames["during "+call+", which had no effect"] = killed{call: call}
		renames["during "+call+", whose answer is lost"] = killed{call: call, effect: true}
	}
	DescribeTable("a rename creates one external and deletes the other one", func(ctx SpecContext, kind string,
		moment killed,
	) {
		cloud, operator, g := start(ctx, thing(kind, "one", "a"))
		stop := runCloud(cloud, operator)
		expectReady(ctx, g)
		stop()
		changeManifests(ctx, g, thing(kind, "two", "b"))
		moment.kill(ctx, operator, g.Namespace, cloud)
		runCloud(cloud, operator)
		expectResolved(ctx, g, operator, cloud)
		Eventually(func() []string { return ownThings(cloud) }).Should(Equal([]string{"b"}))
		expectDeleted(ctx, g, operator, cloud)
		Expect(cloud.Effects("Create")).To(Equal(2))
		Expect(cloud.Effects("Delete")).To(Equal(2))
	}, entries(everyKind, renames))

	DescribeTable("an uncertain create of an external that is no longer wanted leaves nothing", func(ctx SpecContext,
		kind string, deleted bool,
	) {
		cloud, operator, g := start(ctx, thing(kind, "one", "a"))
		killed{call: "Create", effect: true}.kill(ctx, operator, g.Namespace, cloud)
		Expect(ownThings(cloud)).To(Equal([]string{"a"}))
		if deleted {
			remove(ctx, g)
		} else {
			changeManifests(ctx, g, thing(kind, "two", "b"))
		}
		runCloud(cloud, operator)
		if !deleted {
			expectResolved(ctx, g, operator, cloud)
			Expect(ownThings(cloud)).To(Equal([]string{"b"}))
		}
		expectDeleted(ctx, g, operator, cloud)
	},
		Entry("Thing, its component is deleted", "Thing", true),
		Entry("FindableThing, its component is deleted", "FindableThing", true),
		Entry("NamedThing, its component is deleted", "NamedThing", true),
		Entry("RepeatableThing, its component is deleted", "RepeatableThing", true),
		Entry("Thing, another one is rendered", "Thing", false),
		Entry("FindableThing, another one is rendered", "FindableThing", false),
		Entry("NamedThing, another one is rendered", "NamedThing", false),
		Entry("RepeatableThing, another one is rendered", "RepeatableThing", false),
	)

	DescribeTable("an uncertain create that a previous version recorded, without its token in the inventory, is "+
		"completed once", func(ctx SpecContext, kind string) {
		cloud, operator, g := start(ctx, thing(kind, "one", "a"))
		killed{call: "Create", effect: true}.kill(ctx, operator, g.Namespace, cloud)
		previous := current(ctx, g)
		for i, line := range previous.Status.Inventory {
			known, _, found := strings.Cut(line, " ct=")
			Expect(found).To(BeTrue(), line)
			previous.Status.Inventory[i] = known
		}
		previous.Status.InventoryDigest = previousDigest(previous.Status.Inventory)
		Expect(k8s.Status().Update(ctx, previous)).To(Succeed())
		runCloud(cloud, operator)
		expectResolved(ctx, g, operator, cloud)
		Expect(ownThings(cloud)).To(Equal([]string{"a"}))
		Expect(cloud.Effects("Create")).To(Equal(1))
		expectDeleted(ctx, g, operator, cloud)
	}, Entry("Thing", "Thing"), Entry("FindableThing", "FindableThing"), Entry("NamedThing", "NamedThing"),
		Entry("RepeatableThing", "RepeatableThing"))

	It("a changed id in the manifest does not hide an external whose creation was uncertain", func(ctx SpecContext) {
		manifest := func(id string) string {
			return strings.Replace(thing("NamedThing", "one", "a"), "name: one}", "name: "+id+"}", 1)
		}
		cloud, operator, g := start(ctx, manifest("first"))
		killed{call: "Create", effect: true}.kill(ctx, operator, g.Namespace, cloud)
		changeManifests(ctx, g, manifest("second"))
		runCloud(cloud, operator)
		expectReady(ctx, g)
		Expect(cloud.Effects("Create")).To(Equal(1))
		expectDeleted(ctx, g, operator, cloud)
	})

	It("an intent that no external needs any more leaves no Secret", func(ctx SpecContext) {
		cloud, operator, g := start(ctx, thing("Thing", "one", "a"))
		killed{secret: 1, answered: true}.kill(ctx, operator, g.Namespace, cloud)
		Expect(stateSecrets(ctx, g.Namespace)).NotTo(BeEmpty())
		changeManifests(ctx, g, configMaps("cm", 1, "a"))
		runCloud(cloud, operator)
		expectReady(ctx, g)
		Eventually(ctx, func() []byte { return stateSecret(ctx, g).Data["Thing.one"] }).Should(BeEmpty())
		expectDeleted(ctx, g, operator, cloud)
		Expect(cloud.Calls("Create")).To(BeZero())
	})
})
