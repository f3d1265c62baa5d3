package tracing

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestTheZeroTracerAllocatesNothing(t *testing.T) {
	tracer := New(nil, "test.fairlead.io")
	key := manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	action := plan.Action{Verb: plan.VerbCreate, Key: key}
	result := plan.Result{Verb: plan.VerbCreate, Failure: &plan.Failure{Reason: "Forbidden", Message: "no"}}
	allocations := testing.AllocsPerRun(100, func() {
		ctx, pass := tracer.StartPass(
			context.Background(),
			"Gadget",
			types.NamespacedName{Namespace: "shop", Name: "app"},
			1,
		)
		waveCtx, wave := tracer.StartWave(ctx, 1, false)
		_, write := tracer.StartAction(waveCtx, action)
		write.SetResult(result)
		write.End()
		wave.End()
		tracer.SetFailure(ctx, "no")
		tracer.SetOutcome(ctx, "Retrying", "Forbidden")
		pass.End()
	})
	if allocations != 0 {
		t.Errorf("the calls of the tracer made %v allocations, want none", allocations)
	}
}

// attributesOf returns the attributes of a span as text.
func attributesOf(span tracetest.SpanStub) map[string]string {
	found := map[string]string{}
	for _, a := range span.Attributes {
		found[string(a.Key)] = a.Value.String()
	}
	return found
}

func TestSpansOfAPass(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	tracer := New(provider, "test.fairlead.io")
	ctx, pass := tracer.StartPass(t.Context(), "Gadget", types.NamespacedName{Namespace: "shop", Name: "app"}, 3)
	waveCtx, wave := tracer.StartWave(ctx, 2, true)
	_, action := tracer.StartAction(waveCtx, plan.Action{
		Verb: plan.VerbApply, Wave: 2, Reason: plan.ReasonDrifted,
		Key: manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "settings"},
	})
	failure := &plan.Failure{Reason: plan.WaitForbidden, Message: "no right"}
	action.SetResult(plan.Result{Verb: plan.VerbRead, Failure: failure})
	action.End()
	wave.End()
	tracer.SetOutcome(ctx, "Retrying", "Forbidden")
	tracer.SetFailure(ctx, "no right")
	pass.End()

	spans := exporter.GetSpans()
	if len(spans) != 3 {
		t.Fatalf("the trace has %d spans, want 3", len(spans))
	}
	const reconciler = "fairlead.reconciler"
	for i, want := range []struct {
		name       string
		failed     bool
		attributes map[string]string
	}{
		{"Apply ConfigMap", true, map[string]string{
			reconciler: "test.fairlead.io", "fairlead.wave": "2", "fairlead.verb": "Read", "error.type": "Forbidden",
			"fairlead.dependent": "ConfigMap shop/settings", "fairlead.reason": string(plan.ReasonDrifted),
		}},
		{"wave", false, map[string]string{
			reconciler: "test.fairlead.io", "fairlead.wave": "2", "fairlead.wave.removes": "true",
		}},
		{"pass", true, map[string]string{
			reconciler: "test.fairlead.io", "fairlead.component.kind": "Gadget", "fairlead.component.namespace": "shop",
			"fairlead.component.name": "app", "fairlead.component.generation": "3",
			"fairlead.outcome": "Retrying", "fairlead.reason": "Forbidden",
		}},
	} {
		span := spans[i]
		if span.Name != want.name || (span.Status.Code == codes.Error) != want.failed {
			t.Errorf("span %d has the wrong name %q or status %v", i, span.Name, span.Status)
		}
		if diff := cmp.Diff(want.attributes, attributesOf(span)); diff != "" {
			t.Errorf("%s:\n%s", want.name, diff)
		}
	}
	actionSpan, waveSpan, passSpan := spans[0], spans[1], spans[2]
	if actionSpan.Parent.SpanID() != waveSpan.SpanContext.SpanID() ||
		waveSpan.Parent.SpanID() != passSpan.SpanContext.SpanID() {
		t.Error("the span of a write is not a child of the span of its wave")
	}
}
