package main

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead-io/fairlead/internal/version"
)

// tracesPath is the URL path under which a collector receives OTLP traces.
const tracesPath = "v1/traces"

// flushTimeout is the maximum time for the export of the last spans when the process ends.
const flushTimeout = 2 * time.Second

// tracingOptions are the values of the flags for tracing.
type tracingOptions struct {
	endpoint string
	ratio    float64
}

func (o tracingOptions) validate() error {
	if o.endpoint == "" {
		return nil
	}
	u, err := url.Parse(o.endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("want a URL such as http://collector:4318")
	}
	return nil
}

// startTracing returns a provider that sends spans to a collector, and a function that sends the last spans. The
// provider is nil if neither the flag nor the environment names a collector. Settings without a flag, such as headers,
// certificates and attributes, come from the environment variables of OpenTelemetry.
func startTracing(ctx context.Context, o tracingOptions) (trace.TracerProvider, func(), error) {
	if cmp.Or(o.endpoint, os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"),
		os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")) == "" {
		return nil, func() {}, nil
	}
	exporter, err := otlptracehttp.New(ctx, o.exporterOptions()...)
	if err != nil {
		return nil, nil, err
	}
	source, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "fairlead-operator"), attribute.String("service.version", version.Version),
	), resource.WithFromEnv())
	if err != nil {
		return nil, nil, err
	}
	options := []sdktrace.TracerProviderOption{sdktrace.WithBatcher(exporter), sdktrace.WithResource(source)}
	if o.ratio < 1 {
		options = append(options, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.ratio))))
	}
	log := ctrl.Log.WithName("tracing")
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Error(err, "spans were not sent") }))
	provider := sdktrace.NewTracerProvider(options...)
	return provider, func() {
		flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := provider.Shutdown(flush); err != nil {
			log.Error(err, "the last spans were not sent")
		}
	}, nil
}

// exporterOptions returns the endpoint of the collector. The exporter reads other settings from the environment.
func (o tracingOptions) exporterOptions() []otlptracehttp.Option {
	if o.endpoint == "" {
		return nil
	}
	endpoint := o.endpoint
	if u, err := url.Parse(o.endpoint); err == nil && (u.Path == "" || u.Path == "/") {
		endpoint = u.JoinPath(tracesPath).String()
	}
	return []otlptracehttp.Option{otlptracehttp.WithEndpointURL(endpoint)}
}
