package conformance_test

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/fairlead-io/fairlead/pkg/component"
)

// described returns spans as "parent > span", sorted.
func described(spans tracetest.SpanStubs) []string {
	names := map[trace.SpanID]string{}
	for _, s := range spans {
		names[s.SpanContext.SpanID()] = nameOf(s)
	}
	var texts []string
	for _, s := range spans {
		texts = append(texts, names[s.Parent.SpanID()]+" > "+nameOf(s))
	}
	slices.Sort(texts)
	return texts
}

func nameOf(s tracetest.SpanStub) string {
	switch s.Name {
	case "wave":
		return "wave " + attributeOf(s, "fairlead.wave")
	case "pass":
		return s.Name
	}
	return s.Name + " " + attributeOf(s, "fairlead.dependent")
}

func attributeOf(s tracetest.SpanStub, key attribute.Key) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

var _ = Describe("The spans of an operator:", func() {
	var (
		namespace, operator string
		exporter            *tracetest.InMemoryExporter
	)
	BeforeEach(func(ctx SpecContext) {
		namespace, operator = newNamespace(ctx), newOperatorName()
		exporter = tracetest.NewInMemoryExporter()
		runOperator(operator, operatorOptions{component: component.Options{
			Telemetry: component.Telemetry{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))},
		}})
	})
	// waves renders two waves. The second wave consists of two stages.
	waves := func() string {
		second := settingOf(operator, "order", "1")
		return together(configMap("a", "x"), configMap("b", "x"), configMap("c", "x", second), deployment("web", second))
	}
	// installing returns the spans of the pass that created the dependents.
	installing := func() tracetest.SpanStubs {
		spans := exporter.GetSpans()
		first := slices.IndexFunc(spans, func(s tracetest.SpanStub) bool { return s.Name == "wave" })
		if first < 0 {
			return nil
		}
		id := spans[first].SpanContext.TraceID()
		return slices.DeleteFunc(spans, func(s tracetest.SpanStub) bool { return s.SpanContext.TraceID() != id })
	}

	It("a trace of a pass has one span for the pass, one span for each wave, and one span "+
		"for each write", func(ctx SpecContext) {
		g := newGadget(ctx, namespace, "app", waves(), servedBy(operator))
		expectReady(ctx, g)
		Eventually(ctx, func() []string { return described(installing()) }).Should(HaveExactElements(
			" > pass", "pass > wave 0", "pass > wave 1",
			fmt.Sprintf("wave 0 > Create ConfigMap ConfigMap %s/a", namespace),
			fmt.Sprintf("wave 0 > Create ConfigMap ConfigMap %s/b", namespace),
			fmt.Sprintf("wave 1 > Create ConfigMap ConfigMap %s/c", namespace),
			fmt.Sprintf("wave 1 > Create Deployment Deployment.apps %s/web", namespace),
		))
		pass := installing()[len(installing())-1]
		Expect(pass.Name).To(Equal("pass"), "the span of the pass must end last")
		Expect(attributeOf(pass, "fairlead.outcome")).NotTo(BeEmpty())
		Expect(attributeOf(pass, "fairlead.reconciler")).To(Equal(operator))
		Expect(attributeOf(pass, "fairlead.component.kind")).To(Equal("Gadget"))
		Expect(attributeOf(pass, "fairlead.component.namespace")).To(Equal(namespace))
		Expect(attributeOf(pass, "fairlead.component.name")).To(Equal("app"))
		Expect(pass.Status.Code).To(Equal(codes.Unset))
	})

	It("spans contain errors, and no data of Secrets", func(ctx SpecContext) {
		const secret = "kaleidoscope"
		manifest := "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\ntype: kubernetes.io/tls\n" +
			"stringData: {password: " + secret + "}\n"
		g := newGadget(ctx, namespace, "app", manifest, servedBy(operator))
		expectCondition(ctx, g, "Stalled", "True")
		failed := func(name string) func() []codes.Code {
			return func() (found []codes.Code) {
				for _, s := range exporter.GetSpans() {
					if strings.HasPrefix(s.Name, name) {
						found = append(found, s.Status.Code)
					}
				}
				return found
			}
		}
		Eventually(ctx, failed("pass")).Should(ContainElement(codes.Error))
		Expect(failed("Create Secret")()).To(ContainElement(codes.Error))
		Expect(fmt.Sprintf("%+v", exporter.GetSpans())).NotTo(ContainSubstring(secret))
	})
})
