package conformance_test

import (
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// quick are options of externals for specs: frequent polls, and a short settle time.
var quick = external.Options[componenttest.ThingSpec]{
	Poll: 200 * time.Millisecond, Settle: 100 * time.Millisecond, Timeout: 5 * time.Second, Rate: 1000, Burst: 1000,
	Concurrency: 8,
}

// cloudKinds are the drivers of the things of a cloud.
func cloudKinds(cloud *componenttest.Cloud) []external.Driver {
	things, repeatable := componenttest.Things{Cloud: cloud}, quick
	repeatable.IdempotentFor = time.Hour
	return []external.Driver{
		external.Of("Thing", things, quick),
		external.Of("FindableThing", componenttest.FindableThings{Things: things}, quick),
		external.Of("NamedThing", componenttest.NamedThings{Things: things}, quick),
		external.Of("RepeatableThing", componenttest.RepeatableThings{Things: things}, repeatable),
	}
}

// runCloud starts an operator for the things of a cloud.
func runCloud(cloud *componenttest.Cloud, operator string) (stop func()) {
	return runOperator(operator, operatorOptions{component: component.Options{Externals: cloudKinds(cloud)}})
}

// thing returns the manifest of an external.
func thing(kind, name, value string, annotations ...string) string {
	text := fmt.Sprintf("---\napiVersion: external.fairlead.io/v1\nkind: %s\nmetadata:\n  name: %s\n"+
		"  annotations:\n    a: b\n", kind, name)
	for _, a := range annotations {
		text += "    " + a + "\n"
	}
	return text + fmt.Sprintf("spec: {value: %q", value) + map[bool]string{true: ", name: " + name}[kind == "NamedThing"] +
		"}\n"
}

var _ = Describe("Externals:", func() {
	values := func(cloud *componenttest.Cloud) func() []string {
		return func() []string {
			var values []string
			for _, t := range cloud.Things() {
				values = append(values, t.Value)
			}
			return values
		}
	}

	for _, kind := range []string{"Thing", "FindableThing", "NamedThing"} {
		It(kind+": an external is created, updated, repaired, pruned and deleted with its component", func(ctx SpecContext) {
			cloud, operator := componenttest.NewCloud(), newOperatorName()
			runCloud(cloud, operator)
			namespace := newNamespace(ctx)
			g := newGadget(ctx, namespace, "app", thing(kind, "one", "a")+thing(kind, "two", "b"), servedBy(operator))
			expectReady(ctx, g)
			Expect(values(cloud)()).To(ConsistOf("a", "b"))

			By("changing the spec")
			changeManifests(ctx, g, thing(kind, "one", "c")+thing(kind, "two", "b"))
			Eventually(values(cloud)).WithTimeout(10 * time.Second).Should(ConsistOf("c", "b"))
			expectReady(ctx, g)

			By("changing the external behind the operator's back")
			first := cloud.Things()[0]
			cloud.Put(componenttest.Thing{ID: first.ID, Token: first.Token, Value: "wrong"})
			Eventually(values(cloud)).WithTimeout(10 * time.Second).Should(ConsistOf("c", "b"))

			By("removing the external behind the operator's back")
			cloud.Remove(first.ID)
			Eventually(values(cloud)).WithTimeout(10 * time.Second).Should(ConsistOf("c", "b"))
			expectReady(ctx, g)

			By("no longer rendering one of them")
			changeManifests(ctx, g, thing(kind, "one", "c"))
			Eventually(values(cloud)).WithTimeout(10 * time.Second).Should(ConsistOf("c"))
			expectReady(ctx, g)

			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(cloud.Things()).To(BeEmpty())
			Expect(cloud.Calls("Create")).To(Equal(3))
		})
	}

	It("an uncertain create stalls the component, until a person says whether the external exists", func(ctx SpecContext) {
		cloud, operator := componenttest.NewCloud(), newOperatorName()
		cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			if c.Method == "Create" {
				return componenttest.CloudFault{After: errors.New("connection reset")}
			}
			return componenttest.CloudFault{}
		})
		runCloud(cloud, operator)
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", thing("Thing", "one", "a"), servedBy(operator))
		expectCondition(ctx, g, "Stalled", And(HavePrefix("True CreateUncertain"), ContainSubstring("token")))
		Expect(cloud.Calls("Create")).To(Equal(1))
		made := cloud.Things()[0]

		patch(ctx, g, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, operator+"/resolve-external",
			fmt.Sprintf(`{"Thing/one":{"token":%q,"id":%q}}`, made.Token, made.ID)))
		expectReady(ctx, g)
		Expect(cloud.Calls("Create")).To(Equal(1))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(cloud.Things()).To(BeEmpty())
	})

	It("an external exports values, which objects of the cluster bind", func(ctx SpecContext) {
		cloud, operator := componenttest.NewCloud(), newOperatorName()
		runCloud(cloud, operator)
		namespace := newNamespace(ctx)
		text := thing("Thing", "one", "a", operator+`/export: "thingID=self.status.id"`) + fmt.Sprintf(
			"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: bound, annotations: {%s/bind: \"true\"}}\n"+
				"data: {id: \"${{ thingID }}\"}\n", operator)
		g := newGadget(ctx, namespace, "app", text, servedBy(operator))
		expectReady(ctx, g)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "bound").Object["data"]).
			To(HaveKeyWithValue("id", cloud.Things()[0].ID))
		Expect(current(ctx, g).Status.Conditions).NotTo(BeEmpty())
		_ = metav1alpha1.ConditionReady
	})
})
