package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// scope is the name of the instrumentation.
const scope = "github.com/fairlead-io/fairlead/pkg/component"

// The attributes of spans.
const (
	attributeReconciler = attribute.Key("fairlead.reconciler")
	attributeKind       = attribute.Key("fairlead.component.kind")
	attributeNamespace  = attribute.Key("fairlead.component.namespace")
	attributeName       = attribute.Key("fairlead.component.name")
	attributeGeneration = attribute.Key("fairlead.component.generation")
	attributeOutcome    = attribute.Key("fairlead.outcome")
	attributeReason     = attribute.Key("fairlead.reason")
	attributeWave       = attribute.Key("fairlead.wave")
	attributeRemoves    = attribute.Key("fairlead.wave.removes")
	attributeVerb       = attribute.Key("fairlead.verb")
	attributeDependent  = attribute.Key("fairlead.dependent")
)

// Tracer starts the spans of one reconciler. The zero Tracer starts no spans.
type Tracer struct {
	tracer     trace.Tracer
	reconciler string
}

// New returns the tracer of a reconciler. Without a provider it returns the zero Tracer.
func New(provider trace.TracerProvider, reconciler string) Tracer {
	if provider == nil {
		return Tracer{}
	}
	return Tracer{tracer: provider.Tracer(scope), reconciler: reconciler}
}

// Span is a started span. The methods of the zero Span do nothing.
type Span struct{ span trace.Span }

// End ends the span.
func (s Span) End() {
	if s.span != nil {
		s.span.End()
	}
}

// StartPass starts the span of a pass over a component. The caller must end the span.
func (t Tracer) StartPass(
	ctx context.Context, kind string, name types.NamespacedName, generation int64,
) (context.Context, Span) {
	if t.tracer == nil {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(ctx, "pass", trace.WithAttributes(
		attributeReconciler.String(t.reconciler), attributeKind.String(kind),
		attributeNamespace.String(name.Namespace), attributeName.String(name.Name),
		attributeGeneration.Int64(generation),
	))
	return ctx, Span{span}
}

// SetOutcome sets the outcome of a pass, and the reason for it, on the span in ctx.
func (t Tracer) SetOutcome(ctx context.Context, outcome, reason string) {
	if t.tracer != nil {
		trace.SpanFromContext(ctx).SetAttributes(attributeOutcome.String(outcome), attributeReason.String(reason))
	}
}

// SetFailure marks the span of a pass in ctx as failed.
func (t Tracer) SetFailure(ctx context.Context, message string) {
	if t.tracer != nil {
		trace.SpanFromContext(ctx).SetStatus(codes.Error, message)
	}
}

// StartWave starts the span of a wave. The argument removes reports whether the wave removes dependents. The caller
// must end the span.
func (t Tracer) StartWave(ctx context.Context, wave int, removes bool) (context.Context, Span) {
	if t.tracer == nil {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(ctx, "wave", trace.WithAttributes(
		attributeReconciler.String(t.reconciler), attributeWave.Int(wave), attributeRemoves.Bool(removes),
	))
	return ctx, Span{span}
}

// StartAction starts the span of an action on a dependent, such as a write. The caller must end the span.
func (t Tracer) StartAction(ctx context.Context, a plan.Action) (context.Context, Span) {
	if t.tracer == nil {
		return ctx, Span{}
	}
	attributes := trace.WithAttributes(
		attributeReconciler.String(t.reconciler), attributeWave.Int(a.Wave), attributeVerb.String(string(a.Verb)),
		attributeDependent.String(a.Key.String()), attributeReason.String(string(a.Reason)),
	)
	name := string(a.Verb) + " " + a.Key.Kind
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), attributes)
	return ctx, Span{span}
}

// ExternalCall is a call about a dependent outside Kubernetes. Name is empty for a call about several of them.
type ExternalCall struct {
	Component          types.NamespacedName
	Kind, Name, Method string
}

// StartExternalCall starts the span of a call about an external. Calls are made beside the passes, so the span has no
// parent. The caller must end the span.
func (t Tracer) StartExternalCall(ctx context.Context, c ExternalCall) (context.Context, Span) {
	if t.tracer == nil {
		return ctx, Span{}
	}
	attributes := trace.WithAttributes(
		attributeReconciler.String(t.reconciler), attributeNamespace.String(c.Component.Namespace),
		attributeName.String(c.Component.Name), attributeVerb.String(c.Method),
		attributeDependent.String(manifests.Key{Group: manifests.ExternalGroup, Kind: c.Kind, Name: c.Name}.String()),
	)
	ctx, span := t.tracer.Start(ctx, c.Method+" "+c.Kind, trace.WithSpanKind(trace.SpanKindClient), attributes)
	return ctx, Span{span}
}

// SetExternalResult sets the result of a call about an external. message is empty if it is no failure.
func (s Span) SetExternalResult(result, message string) {
	if s.span == nil {
		return
	}
	s.span.SetAttributes(attributeOutcome.String(result))
	if message != "" {
		s.span.SetStatus(codes.Error, message)
	}
}

// SetResult sets the result of an action: the verb that was carried out, which is Read after a conflict, and the
// failure if there is one.
func (s Span) SetResult(r plan.Result) {
	if s.span == nil {
		return
	}
	s.span.SetAttributes(attributeVerb.String(string(r.Verb)))
	if r.Failure != nil {
		s.span.SetAttributes(attribute.String("error.type", string(r.Failure.Reason)))
		s.span.SetStatus(codes.Error, r.Failure.Message)
	}
}
