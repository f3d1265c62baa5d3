package conformance_test

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("The metrics of event sources:", func() {
	It("values, wakes, equal values, failures and stale components are counted by source", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		var fails atomic.Bool
		polled := eventsource.Polling[*gadget.Gadget]("rates",
			50*time.Millisecond, func(context.Context) (map[client.ObjectKey]int, error) {
				if fails.Load() {
					return nil, errors.New("the service is down")
				}
				return map[client.ObjectKey]int{{Namespace: namespace, Name: "app"}: 1}, nil
			})
		settings := eventsource.Related("settings", configMapOptions{Of: toShared(namespace), Whole: true})
		shared(ctx, namespace, "shared", "a")
		runOperator(operator, operatorOptions{generate: nothing, built: withSources(polled, settings)})
		g := newGadget(ctx, namespace, "app", "", servedBy(operator))
		expectReady(ctx, g)
		const ofRates, ofSettings = "{kind=polling,source=rates}", "{kind=related,source=settings}"
		results := func() map[string]float64 { return seriesOf(operator, "source_results_total") }
		Eventually(ctx, results).Should(HaveKeyWithValue("source_results_total{kind=polling,result=equal,source=rates}",
			BeNumerically(">", 2)))
		Expect(seriesOf(operator, "source_values")).To(HaveKeyWithValue("source_values"+ofRates, 1.0))
		Expect(seriesOf(operator, "source_stale_components")).To(And(
			HaveKeyWithValue("source_stale_components"+ofRates, 0.0),
			HaveKeyWithValue("source_stale_components"+ofSettings, 0.0)))
		last := seriesOf(operator, "source_last_answer_timestamp_seconds")
		Expect(last).To(HaveKeyWithValue("source_last_answer_timestamp_seconds"+ofRates,
			BeNumerically("~", time.Now().Unix(), 60)))

		By("changing the related object")
		before := results()["source_results_total{kind=related,result=woke,source=settings}"]
		patch(ctx, newConfigMap(namespace, "shared"), `{"data":{"value":"b"}}`)
		Eventually(ctx, results).Should(HaveKeyWithValue("source_results_total{kind=related,result=woke,source=settings}",
			before+1))

		By("letting the fetches fail")
		fails.Store(true)
		Eventually(ctx, func() map[string]float64 { return seriesOf(operator, "source_stale_components") }).
			Should(HaveKeyWithValue("source_stale_components"+ofRates, 1.0))
		Expect(results()).To(HaveKeyWithValue("source_results_total{kind=polling,result=failed,source=rates}",
			BeNumerically(">=", 2)))
	})
})
