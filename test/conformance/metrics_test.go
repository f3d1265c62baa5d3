package conformance_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// series returns the metrics of an operator whose names begin with fairlead_, as "name{labels}". The prefix and the
// label of the reconciler are removed. The value of a histogram is its number of observations.
func series(operator string) map[string]float64 {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	found := map[string]float64{}
	for _, family := range families {
		name, ours := strings.CutPrefix(family.GetName(), "fairlead_")
		if !ours {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			of := ""
			for _, l := range metric.GetLabel() {
				if l.GetName() == "reconciler" {
					of = l.GetValue()
				} else {
					labels = append(labels, l.GetName()+"="+l.GetValue())
				}
			}
			if of == operator {
				found[fmt.Sprintf("%s{%s}", name, strings.Join(labels, ","))] = metric.GetCounter().GetValue() +
					metric.GetGauge().GetValue() +
					float64(metric.GetHistogram().GetSampleCount())
			}
		}
	}
	return found
}

// seriesOf returns the series of one metric.
func seriesOf(operator, name string) map[string]float64 {
	GinkgoHelper()
	found := map[string]float64{}
	for text, value := range series(operator) {
		if strings.HasPrefix(text, name+"{") {
			found[text] = value
		}
	}
	return found
}

var _ = Describe("The metrics of an operator:", func() {
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })
	stateOf := func(name, state string) string {
		return fmt.Sprintf("component_state{name=%s,namespace=%s,state=%s}", name, namespace, state)
	}
	dependents := func(name, readiness string) string {
		return fmt.Sprintf("component_dependents{name=%s,namespace=%s,readiness=%s}", name, namespace, readiness)
	}

	It("the metrics count a request for each dependent that is created, changed and deleted", func(ctx SpecContext) {
		const n = 7
		runOperator(operator, operatorOptions{})
		mark := markAudit(ctx)
		g := newGadget(ctx, namespace, "app", together(configMaps("a", n, "one"), deployment("web")), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		expected := map[string]float64{
			"requests_total{code=201,group=,kind=ConfigMap,verb=apply}":      n,
			"requests_total{code=201,group=apps,kind=Deployment,verb=apply}": 1,
		}
		Expect(seriesOf(operator, "requests_total")).To(Equal(expected))

		By("changing one dependent")
		changeManifests(ctx, g, together(configMaps("a", n-1, "one"), configMap(fmt.Sprintf("a-%d", n-1), "two"),
			deployment("web")))
		expectReady(ctx, g)
		settle(ctx, operator)
		expected["requests_total{code=200,group=,kind=ConfigMap,verb=apply}"] = 1
		Expect(seriesOf(operator, "requests_total")).To(Equal(expected))

		By("deleting the component and its dependents")
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(seriesOf(operator, "requests_total")).To(And(
			HaveKeyWithValue("requests_total{code=200,group=,kind=ConfigMap,verb=delete}", float64(n)),
			HaveKeyWithValue("requests_total{code=200,group=apps,kind=Deployment,verb=delete}", 1.0)))

		By("comparing with the audit log")
		total := 0.0
		for _, count := range seriesOf(operator, "requests_total") {
			total += count
		}
		ofDependents := inNamespace(requestsSince(ctx, mark, operator), namespace)
		Expect(total).To(BeEquivalentTo(len(ofDependents.Resource("configmaps")) + len(ofDependents.Resource("deployments"))))
	})

	It("the metrics show the state of a component and its dependents while the component exists", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), heldDeployment("web")), servedBy(operator))
		Eventually(ctx, func() map[string]float64 { return series(operator) }).Should(And(
			HaveKeyWithValue(stateOf("app", "Progressing"), 1.0),
			HaveKeyWithValue(dependents("app", "ready"), 1.0), HaveKeyWithValue(dependents("app", "unready"), 1.0),
			HaveKeyWithValue("components{state=Progressing}", 1.0), HaveKeyWithValue("components{state=Ready}", 0.0)))
		changeManifests(ctx, g, configMap("settings", "a"))
		expectReady(ctx, g)
		Eventually(ctx, func() map[string]float64 { return series(operator) }).Should(And(
			HaveKeyWithValue(stateOf("app", "Ready"), 1.0), Not(HaveKey(stateOf("app", "Progressing"))),
			HaveKeyWithValue(dependents("app", "ready"), 1.0), HaveKeyWithValue(dependents("app", "unready"), 0.0),
			HaveKeyWithValue("components{state=Progressing}", 0.0), HaveKeyWithValue("components{state=Ready}", 1.0)))

		By("ending the operator")
		stop()
		Eventually(ctx, func() map[string]float64 { return seriesOf(operator, "component_state") }).Should(BeEmpty())

		By("starting the operator again")
		runOperator(operator, operatorOptions{})
		Eventually(ctx, func() map[string]float64 { return series(operator) }).Should(And(
			HaveKeyWithValue(stateOf("app", "Ready"), 1.0), HaveKeyWithValue(dependents("app", "ready"), 1.0)))

		By("deleting the component")
		remove(ctx, g)
		expectNotFound(ctx, g)
		settle(ctx, operator)
		Expect(seriesOf(operator, "component_state")).To(BeEmpty())
		Expect(seriesOf(operator, "component_dependents")).To(BeEmpty())
		Expect(series(operator)).To(HaveKeyWithValue("components{state=Ready}", 0.0))
	})

	It("the metrics have no series for single components if an option of the operator disables "+
		"these series", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{
			component: component.Options{Telemetry: component.Telemetry{SkipComponentMetrics: true}},
		})
		expectReady(ctx, newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator)))
		Eventually(ctx, func() map[string]float64 { return series(operator) }).
			Should(HaveKeyWithValue("components{state=Ready}", 1.0))
		Expect(seriesOf(operator, "component_state")).To(BeEmpty())
		Expect(seriesOf(operator, "component_dependents")).To(BeEmpty())
	})

	It("the metrics count passes by their outcome", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		changeManifests(ctx, g, "this is no manifest")
		expectCondition(ctx, g, "Stalled", "True")
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, "Ready", "Suspended")
		remove(ctx, g)
		expectNotFound(ctx, g)
		Eventually(ctx, func() map[string]float64 { return seriesOf(operator, "passes_total") }).Should(And(
			HaveKey("passes_total{outcome=Ready}"), HaveKeyWithValue("passes_total{outcome=Stalled}", 1.0),
			HaveKeyWithValue("passes_total{outcome=Suspended}", 1.0), HaveKeyWithValue("passes_total{outcome=Deleted}", 1.0)))
	})

	It("the metrics measure the steps of a pass, and the time until new inputs are applied", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		Eventually(ctx, func() float64 { return series(operator)["time_to_ready_seconds{}"] }).Should(Equal(1.0))
		for _, step := range []string{"inputs", "generate", "observe", "plan", "record", "execute", "status"} {
			Expect(series(operator)["pass_step_duration_seconds{step="+step+"}"]).To(BeNumerically(">", 0), step)
		}

		By("repairing a dependent, which is no change of the inputs")
		remove(ctx, newConfigMap(namespace, "settings"))
		Eventually(
			ctx, func() float64 { return series(operator)["drift_repaired_total{cause=deleted,group=,kind=ConfigMap}"] }).
			Should(Equal(1.0))
		settle(ctx, operator)
		Expect(series(operator)["time_to_ready_seconds{}"]).To(Equal(1.0))

		By("changing the inputs")
		changeManifests(ctx, g, configMap("settings", "b"))
		expectReady(ctx, g)
		Eventually(ctx, func() float64 { return series(operator)["time_to_ready_seconds{}"] }).Should(Equal(2.0))
	})

	It("the metrics count the dependents with a repair conflict", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "ours"), configMap("other", "ours")),
			servedBy(operator))
		expectReady(ctx, g)
		conflicts := fmt.Sprintf("component_repair_conflicts{name=app,namespace=%s}", namespace)
		Eventually(ctx, func() map[string]float64 { return series(operator) }).Should(HaveKeyWithValue(conflicts, 0.0))
		Eventually(ctx, func() map[string]float64 {
			patchAs(ctx, "tuner", newConfigMap(namespace, "settings"), `{"data":{"value":"theirs"}}`)
			return series(operator)
		}).Should(HaveKeyWithValue(conflicts, 1.0))
		remove(ctx, g)
		expectNotFound(ctx, g)
		settle(ctx, operator)
		Expect(series(operator)).NotTo(HaveKey(conflicts))
	})

	DescribeTable("the metrics count repairs by their cause:", func(ctx SpecContext, cause string,
		disturb func(context.Context, string, string),
	) {
		runOperator(operator, operatorOptions{})
		expectReady(ctx, newGadget(ctx, namespace, "app", configMap("settings", "ours"), servedBy(operator)))
		settle(ctx, operator)
		Expect(seriesOf(operator, "drift_repaired_total")).To(BeEmpty())
		disturb(ctx, operator, namespace)
		Eventually(ctx, func() map[string]float64 { return seriesOf(operator, "drift_repaired_total") }).
			Should(Equal(map[string]float64{
				"drift_repaired_total{cause=" + cause + ",group=,kind=ConfigMap}": 1,
			}))
	},
		Entry("a changed dependent", "changed", func(ctx context.Context, _, namespace string) {
			patch(ctx, newConfigMap(namespace, "settings"), `{"data":{"value":"theirs"}}`)
		}, SpecTimeout(time.Minute)),
		Entry("a deleted dependent", "deleted", func(ctx context.Context, _, namespace string) {
			remove(ctx, newConfigMap(namespace, "settings"))
		}, SpecTimeout(time.Minute)),
		Entry("a dependent without its owner label", "unlabelled", func(ctx context.Context, operator, namespace string) {
			patch(ctx, newConfigMap(namespace, "settings"), `{"metadata":{"labels":{"`+operator+`/owner-id":null}}}`)
		}, SpecTimeout(time.Minute)),
	)
})
