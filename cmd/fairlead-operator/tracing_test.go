package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// collector receives traces in place of an OpenTelemetry collector.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	services []string
	spans    []string
}

func newCollector(tb interface{ Cleanup(func()) }) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(c)
	tb.Cleanup(c.Close)
	return c
}

// ServeHTTP implements http.Handler.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var sent collectortrace.ExportTraceServiceRequest
	if r.URL.Path != "/v1/traces" || err != nil || proto.Unmarshal(body, &sent) != nil {
		http.Error(w, "no traces", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range sent.GetResourceSpans() {
		for _, attribute := range resource.GetResource().GetAttributes() {
			if attribute.GetKey() == "service.name" {
				c.services = append(c.services, attribute.GetValue().GetStringValue())
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				c.spans = append(c.spans, span.GetName())
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// received returns the names of the spans, and of the services that sent them.
func (c *collector) received() (spans, services []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans), slices.Clone(c.services)
}

func TestWithoutACollectorNothingIsTraced(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		t.Setenv(name, "")
	}
	provider, stop, err := startTracing(t.Context(), tracingOptions{ratio: 1})
	if provider != nil || err != nil {
		t.Errorf("without an endpoint, got the provider %v and the error %v, want neither", provider, err)
	}
	stop()
}

func TestTheLastSpansAreSent(t *testing.T) {
	for _, c := range []struct {
		name   string
		byFlag bool
		ratio  float64
		want   []string
	}{
		{"to the collector of the flag", true, 1, []string{"pass"}},
		{"to the collector of the environment", false, 1, []string{"pass"}},
		{"no spans that are not sampled", true, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			takes := newCollector(t)
			o := tracingOptions{ratio: c.ratio}
			if c.byFlag {
				o.endpoint = takes.URL
			} else {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", takes.URL)
			}
			provider, stop, err := startTracing(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			_, span := provider.Tracer("test").Start(t.Context(), "pass")
			span.End()
			stop()
			if got, _ := takes.received(); !slices.Equal(got, c.want) {
				t.Errorf("the collector received the spans %q, want %q", got, c.want)
			}
		})
	}
}

var _ = Describe("Tracing", func() {
	It("sends the spans of passes, waves and writes to the collector", func(ctx SpecContext) {
		takes := newCollector(GinkgoT())
		restartOperator(ctx, "--tracing-endpoint="+takes.URL)
		namespace := newNamespace(ctx)
		component := createComponent(ctx, namespace, "shop",
			v1alpha1.ComponentSpec{Source: inline("settings.yaml", monitored)})
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		restartOperator(ctx)
		spans, services := takes.received()
		Expect(spans).To(ContainElements("pass", "wave", "Create ConfigMap"))
		Expect(services).To(HaveEach("fairlead-operator"))
	}, SpecTimeout(3*time.Minute))
})
