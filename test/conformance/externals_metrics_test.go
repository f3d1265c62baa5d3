package conformance_test

import (
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
)

var _ = Describe("The metrics and traces of externals:", func() {
	It("calls are counted and traced, and externals are counted by state", func(ctx SpecContext) {
		cloud, operator := componenttest.NewCloud(), newOperatorName()
		cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			if c.Method == "Create" {
				return componenttest.CloudFault{After: errors.New("connection reset")}
			}
			return componenttest.CloudFault{}
		})
		recorder := tracetest.NewSpanRecorder()
		runOperator(operator, operatorOptions{component: component.Options{
			Externals: []external.Driver{external.Of("Thing", componenttest.Things{Cloud: cloud}, quick)},
			Telemetry: component.Telemetry{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))},
		}})
		g := newGadget(ctx, newNamespace(ctx), "app", thing("Thing", "one", "a"), servedBy(operator))
		expectCondition(ctx, g, "Stalled", HavePrefix("True CreateUncertain"))
		Expect(seriesOf(operator, "external_calls_total")).To(HaveKeyWithValue(
			"external_calls_total{kind=Thing,method=create,result=failed}", 1.0))
		Expect(seriesOf(operator, "externals")).To(And(
			HaveKeyWithValue("externals{kind=Thing,state=uncertain}", 1.0),
			HaveKeyWithValue("externals{kind=Thing,state=ready}", 0.0)))
		var created sdktrace.ReadOnlySpan
		Eventually(ctx, func() sdktrace.ReadOnlySpan {
			for _, span := range recorder.Ended() {
				if span.Name() == "create Thing" {
					created = span
				}
			}
			return created
		}).ShouldNot(BeNil())
		Expect(created.Status().Code).To(Equal(codes.Error))
		Expect(created.Status().Description).To(Equal("connection reset"))

		cloud.SetFault(nil)
		made := cloud.Things()[0]
		patch(ctx, g, `{"metadata":{"annotations":{"`+operator+`/resolve-external":"{\"Thing/one\":{\"token\":\"`+made.Token+
			`\",\"id\":\"`+made.ID+`\"}}"}}}`)
		expectReady(ctx, g)
		Expect(seriesOf(operator, "externals")).To(And(
			HaveKeyWithValue("externals{kind=Thing,state=uncertain}", 0.0),
			HaveKeyWithValue("externals{kind=Thing,state=ready}", 1.0)))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Eventually(ctx, func() map[string]float64 { return seriesOf(operator, "externals") }).Should(BeEmpty())
	})
})
