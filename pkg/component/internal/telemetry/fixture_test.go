package telemetry

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	registry "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/tracing"
)

// series returns the series of a metric of a reconciler that are not zero, as "labels value". The value of a
// histogram is its
// count, or its sum if sums is set.
func series(t *testing.T, metric, reconciler string, sums bool) []string {
	t.Helper()
	if err := metrics.Register(); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, family := range families {
		if family.GetName() != metric {
			continue
		}
		for _, m := range family.GetMetric() {
			labels, ours := labelsOf(m, reconciler)
			if value := valueOf(m, sums); ours && value != 0 {
				found = append(found, fmt.Sprintf("%s %v", labels, value))
			}
		}
	}
	slices.Sort(found)
	return found
}

func labelsOf(m *dto.Metric, reconciler string) (text string, ours bool) {
	var values []string
	for _, l := range m.GetLabel() {
		if l.GetValue() == reconciler {
			ours = true
			continue
		}
		values = append(values, l.GetValue())
	}
	return strings.Join(values, "/"), ours
}

func valueOf(m *dto.Metric, sums bool) float64 {
	switch {
	case m.Counter != nil:
		return m.GetCounter().GetValue()
	case m.Gauge != nil:
		return m.GetGauge().GetValue()
	case sums:
		return m.GetHistogram().GetSampleSum()
	}
	return float64(m.GetHistogram().GetSampleCount())
}

func expect(t *testing.T, metric, reconciler string, want ...string) {
	t.Helper()
	if got := series(t, metric, reconciler, false); !slices.Equal(got, want) {
		t.Errorf("the metric %s has the series %q, want %q", metric, got, want)
	}
}

// newTracer returns a tracer of a reconciler, and a function that returns the ended spans.
func newTracer(t *testing.T, reconciler string) (tracing.Tracer, func() tracetest.SpanStubs) {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	return tracing.New(provider, reconciler), exporter.GetSpans
}

// attributeOf returns an attribute of a span as a text.
func attributeOf(span tracetest.SpanStub, key string) string {
	for _, a := range span.Attributes {
		if a.Key == attribute.Key(key) {
			return a.Value.String()
		}
	}
	return ""
}
