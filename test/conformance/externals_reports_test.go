package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

var _ = Describe("Reports about externals:", func() {
	// eventsOf returns the events of an operator, and those about externals, in all namespaces.
	eventsOf := func(ctx context.Context, operator string) (all, aboutExternals []string) {
		GinkgoHelper()
		list := &eventsv1.EventList{}
		Expect(k8s.List(ctx, list)).To(Succeed())
		for _, e := range list.Items {
			if e.ReportingController != operator {
				continue
			}
			text := fmt.Sprintf("%s %s %s %s: %s", e.Namespace, e.Type, e.Reason, e.Regarding.Kind, e.Note)
			all = append(all, text)
			if strings.HasPrefix(e.Regarding.APIVersion, external.Group) {
				aboutExternals = append(aboutExternals, text)
			}
		}
		return all, aboutExternals
	}

	DescribeTable("the events of the component name what happened to its external, also with events "+
		"about dependents", func(ctx SpecContext, dependentEvents bool) {
		cloud, operator, namespace := componenttest.NewCloud(), newOperatorName(), newNamespace(ctx)
		cloud.Put(componenttest.Thing{ID: "one", Value: "a"})
		runOperator(operator, operatorOptions{component: component.Options{
			Externals: cloudKinds(cloud), Telemetry: component.Telemetry{DependentEvents: dependentEvents},
		}})
		told := func() []string {
			all, _ := eventsOf(ctx, operator)
			return all
		}
		ofComponent := func(kind, reason, note string) {
			GinkgoHelper()
			Eventually(ctx, told).Should(ContainElement(And(
				HavePrefix(fmt.Sprintf("%s %s %s Gadget: ", namespace, kind, reason)), ContainSubstring(note))))
		}
		g := newGadget(ctx, namespace, "app", thing("NamedThing", "one", "b"), servedBy(operator))
		expectReady(ctx, g)
		ofComponent("Normal", "Ready", "NamedThing.external.fairlead.io one in wave 0: it exists and no component owns it")

		By("repairing it")
		cloud.Put(componenttest.Thing{ID: "one", Value: "of others"})
		ofComponent("Normal", "Ready", "apply NamedThing.external.fairlead.io one in wave 0: ")

		By("failing")
		cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			if c.Method == "Update" {
				return componenttest.CloudFault{Before: external.Refused(errors.New("the quota is used up"))}
			}
			return componenttest.CloudFault{}
		})
		changeManifests(ctx, g, thing("NamedThing", "one", "c"))
		ofComponent("Warning", "DependentFailed", "the quota is used up")
		settle(ctx, operator)
		_, about := eventsOf(ctx, operator)
		Expect(about).To(BeEmpty(),
			"an external has no namespace, so an event about it would be in another namespace than its component")
		Expect(told()).To(HaveEach(HavePrefix(namespace + " ")))
	}, Entry("without it", false), Entry("with it", true))

	It("a damaged record stalls the component with the reason CreateUncertain, and the message says "+
		"what is damaged", func(ctx SpecContext) {
		cloud, operator, namespace := componenttest.NewCloud(), newOperatorName(), newNamespace(ctx)
		stop := runCloud(cloud, operator)
		g := newGadget(ctx, namespace, "app", thing("Thing", "one", "a"), servedBy(operator))
		expectReady(ctx, g)
		made := cloud.Things()[0]
		stop()
		secret := stateSecret(ctx, g)
		for key, value := range secret.Data {
			if key != "_index" {
				secret.Data[key] = []byte(strings.Replace(string(value), made.ID, "thing-7261", 1))
			}
		}
		putData(ctx, keyOf(secret), secret)
		runCloud(cloud, operator)
		requestPass(ctx, g, operator)
		expectCondition(ctx, g, "Stalled", And(HavePrefix("True CreateUncertain"),
			ContainSubstring("its recorded state is damaged: "), ContainSubstring("/app Thing/one --id ID, or --absent")))
		Expect(current(ctx, g).Status.Waiting).To(ConsistOf(HaveField("Reason", result.ReportStateDamaged)))
		Expect(cloud.Calls("Create")).To(Equal(1))

		patch(ctx, g, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, operator+"/resolve-external",
			fmt.Sprintf(`{"Thing/one":{"token":%q,"id":%q}}`, made.Token, made.ID)))
		expectReady(ctx, g)
		Expect(cloud.Things()).To(HaveLen(1))
	})
})
