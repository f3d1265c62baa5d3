package conformance_test

import (
	"fmt"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
)

var _ = Describe("Values between externals:", func() {
	var (
		cloud               *componenttest.Cloud
		operator, namespace string
	)
	BeforeEach(func(ctx SpecContext) {
		cloud, operator, namespace = componenttest.NewCloud(), newOperatorName(), newNamespace(ctx)
		runCloud(cloud, operator)
	})
	set := func(name, value string) string { return fmt.Sprintf("%s/%s: %q", operator, name, value) }
	// valueOf returns the value of a thing; empty if it does not exist.
	valueOf := func(id string) func() string {
		return func() string {
			things := cloud.Things()
			if i := slices.IndexFunc(things, func(t componenttest.Thing) bool { return t.ID == id }); i >= 0 {
				return things[i].Value
			}
			return ""
		}
	}

	It("an external with dependencies binds the id and the value of another one, follows its changes, and is "+
		"deleted before it", func(ctx SpecContext) {
		source := func(value string) string {
			return thing("Thing", "source", value, set("export", "sourceID=self.id, sourceValue=self.status.value"))
		}
		bound := thing("NamedThing", "bound", "${{ sourceID + '/' + sourceValue }}",
			set("bind", "true"), set("depends-on", "NamedThing.external.fairlead.io base"))
		bound += thing("NamedThing", "base", "x")
		g := newGadget(ctx, namespace, "app", bound+source("first"), servedBy(operator))
		expectReady(ctx, g)
		Expect(valueOf("bound")()).To(Equal("thing-1/first"))

		changeManifests(ctx, g, bound+source("second"))
		Eventually(valueOf("bound")).Should(Equal("thing-1/second"))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(cloud.Effects("Create")).To(Equal(3))
		Expect(cloud.Effects("Update")).To(Equal(2), "a new value is one update of each external")

		var mu sync.Mutex
		var beside []string
		cloud.SetFault(func(call componenttest.CloudCall) componenttest.CloudFault {
			if call.Method == "Delete" && call.ID != "bound" && valueOf("bound")() != "" {
				mu.Lock()
				defer mu.Unlock()
				beside = append(beside, call.ID)
			}
			return componenttest.CloudFault{}
		})
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(beside).To(BeEmpty(), "deleted while the external that depends on them existed")
	})

	It("a value that vanishes blanks nothing: the bound external keeps the last value, also if its "+
		"source vanishes", func(ctx SpecContext) {
		g := newGadget(ctx, namespace, "app",
			thing("NamedThing", "source", "x", set("reconcile-policy", "observe"), set("export", "level=self.status.phase"))+
				thing("NamedThing", "bound", "at ${{ level }}", set("bind", "true")), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, ContainSubstring("NamedThing.external.fairlead.io source"))
		Expect(cloud.Calls("Create")).To(BeZero())

		cloud.Put(componenttest.Thing{ID: "source", Value: "x", Phase: "Ready"})
		Eventually(valueOf("bound")).Should(Equal("at Ready"))
		expectReady(ctx, g)

		By("the value vanishes")
		cloud.Put(componenttest.Thing{ID: "source", Value: "x"})
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False"), ContainSubstring("level")))
		settle(ctx, operator)
		Expect(valueOf("bound")()).To(Equal("at Ready"))

		By("its source vanishes")
		cloud.Remove("source")
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False"), ContainSubstring("it does not exist")))
		settle(ctx, operator)
		Expect(valueOf("bound")()).To(Equal("at Ready"))
		Expect(cloud.Calls("Delete")).To(BeZero())

		By("the value is back")
		cloud.Put(componenttest.Thing{ID: "source", Value: "x", Phase: "Ready"})
		expectReady(ctx, g)
		Expect(valueOf("bound")()).To(Equal("at Ready"))
	})
})
