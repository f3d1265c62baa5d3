package conformance_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
)

var _ = Describe("Events about dependents:", func() {
	// told returns the events about ConfigMaps and Services in a namespace, each with its component.
	told := func(ctx context.Context, namespace string) []string {
		GinkgoHelper()
		list := &eventsv1.EventList{}
		Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		var texts []string
		for _, e := range list.Items {
			if kind := e.Regarding.Kind; kind == "ConfigMap" || kind == "Service" {
				Expect(e.Regarding.UID).NotTo(BeEmpty())
				Expect(e.Related.Kind).To(Equal("Gadget"))
				texts = append(texts, fmt.Sprintf("%s %s %s", e.Type, e.Reason, e.Regarding.Name))
			}
		}
		return texts
	}

	It("with the option DependentEvents, a dependent has one event for each reason and revision, and a "+
		"component at most ten", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{
			component: component.Options{Telemetry: component.Telemetry{DependentEvents: true}},
		})
		create(ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: found, namespace: "+namespace+"}")
		port := func(number int) string {
			return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: %d}]}", number)
		}
		manifests := together(configMap("found", "a"), configMap("settings", "a"), port(80))
		g := newGadget(ctx, namespace, "app", manifests, servedBy(operator))
		expectReady(ctx, g)
		Eventually(ctx, func() []string { return told(ctx, namespace) }).Should(ConsistOf("Normal Adopted found"))

		By("repairing twice in a revision")
		drift := func(value string) {
			GinkgoHelper()
			patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), `{"data":{"value":"`+value+`"}}`)
			Eventually(ctx, func() any {
				return mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"]
			}).Should(HaveKeyWithValue("value", "a"))
		}
		drift("b")
		Eventually(ctx, func() []string { return told(ctx, namespace) }).Should(ContainElement("Normal Repaired settings"))
		settle(ctx, operator)
		mark := markAudit(ctx)
		drift("c")
		settle(ctx, operator)
		about := auditEvents(ctx)[mark:].UserAgent(userAgent(operator)).Resource("events").Writes()
		Expect(len(about)).To(BeNumerically("<=", 1), "only the component has an event about the second repair")

		By("failing in the next revision")
		changeManifests(ctx, g, together(configMap("found", "a"), configMap("settings", "a"), port(-1)))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "True DependentFailed")
		Eventually(ctx, func() []string { return told(ctx, namespace) }).Should(
			ConsistOf("Normal Adopted found", "Normal Repaired settings", "Warning Failed web"))
	})

	It("adopting 40 dependents creates ten events about dependents, and none without the option", func(ctx SpecContext) {
		for _, enabled := range []bool{true, false} {
			namespace, operator := newNamespace(ctx), newOperatorName()
			stop := runOperator(operator, operatorOptions{
				component: component.Options{Telemetry: component.Telemetry{DependentEvents: enabled}},
			})
			for i := range 40 {
				Expect(k8s.Create(ctx, newConfigMap(namespace, fmt.Sprint("many-", i)))).To(Succeed())
			}
			g := newGadget(ctx, namespace, "app", configMaps("many", 40, "a"), servedBy(operator))
			expectReady(ctx, g)
			want := 0
			if enabled {
				want = 10
			}
			Eventually(ctx, func() []string { return told(ctx, namespace) }).Should(HaveLen(want))
			settle(ctx, operator)
			stop()
			Expect(told(ctx, namespace)).To(HaveLen(want))
		}
	})
})
