package telemetry

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/tracing"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

var (
	start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	web   = types.NamespacedName{Namespace: "shop", Name: "web"}
)

func newPassTracer(t *testing.T, reconciler string) tracing.Tracer {
	t.Helper()
	tracer, _ := newTracer(t, reconciler)
	return tracer
}

func statusOf(state metav1alpha1.State, ready, total int32) *metav1alpha1.Status {
	s := &metav1alpha1.Status{State: state}
	s.Dependents.Ready, s.Dependents.Total = ready, total
	return s
}

func TestPassesAreCountedByTheirVerdict(t *testing.T) {
	failed := outcome.Outcome{Outcome: result.Outcome{Waiting: []result.Waiting{{Failed: true}}}}
	for _, c := range []struct {
		name    string
		state   metav1alpha1.State
		outcome outcome.Outcome
		failure *passerror.Error
		want    string
		failing bool
	}{
		{"ready", metav1alpha1.StateReady, outcome.Outcome{}, nil, "Ready", false},
		{
			"waiting is not a failure", metav1alpha1.StateProgressing,
			outcome.Outcome{Outcome: result.Outcome{Waiting: []result.Waiting{{}}}},
			nil,
			"Progressing", false,
		},
		{"a failure that is retried", metav1alpha1.StateProgressing, failed, nil, "Retrying", true},
		{"a failure that needs a person", metav1alpha1.StateStalled, failed, nil, "Stalled", true},
		{
			"a deletion that needs a person",
			metav1alpha1.StateDeletionBlocked,
			outcome.Outcome{},
			nil, "DeletionBlocked", true,
		},
		{
			"an error that is retried", metav1alpha1.StateProgressing,
			outcome.Outcome{},
			&passerror.Error{Reason: metav1alpha1.ReasonRetrying}, "Retrying", true,
		},
		{
			"suspended components do not fail", metav1alpha1.StateSuspended,
			outcome.Outcome{},
			&passerror.Error{Reason: metav1alpha1.ReasonSuspended, Waits: true}, "Suspended", false,
		},
		{
			"foreign finalizers are not a failure", metav1alpha1.StateDeleting,
			outcome.Outcome{},
			&passerror.Error{Reason: metav1alpha1.ReasonForeignFinalizers, Waits: true}, "Deleting", false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			reconciler := "verdicts-" + c.name + ".example.com"
			tracer, spans := newTracer(t, reconciler)
			m := NewPassMetrics(reconciler, tracer, true)
			ctx, span := m.Span(t.Context(), "Shop", web, 3)
			m.End(ctx, web, PassEnd{
				Outcome: c.outcome, Failure: c.failure, Now: start, Status: statusOf(c.state, 0, 0),
				Result: status.PassResult{State: c.state, Reason: "R", Message: "the message"},
			})
			span.End()
			expect(t, "fairlead_passes_total", reconciler, c.want+" 1")
			got := spans()[0]
			if attributeOf(got, "fairlead.outcome") != c.want || attributeOf(got, "fairlead.reason") != "R" ||
				attributeOf(got, "fairlead.component.generation") != "3" {
				t.Errorf("got %+v", got.Attributes)
			}
			if (got.Status.Code == codes.Error) != c.failing || c.failing && got.Status.Description != "the message" {
				t.Errorf("got %+v", got.Status)
			}
		})
	}
}

func TestPassesWithoutAVerdictAreCounted(t *testing.T) {
	const reconciler = "unverdicted.example.com"
	tracer, spans := newTracer(t, reconciler)
	m := NewPassMetrics(reconciler, tracer, true)
	for _, failure := range []error{nil, errors.New("it fails")} {
		ctx, span := m.Span(t.Context(), "Shop", web, 1)
		m.Pass(ctx, ResultFailed, failure)
		span.End()
	}
	expect(t, "fairlead_passes_total", reconciler, "Failed 2")
	got := spans()
	if got[0].Status.Code == codes.Error || got[1].Status.Description != "it fails" {
		t.Errorf("got %+v", got)
	}
}

func TestComponentsAreExportedUntilTheEnd(t *testing.T) {
	const reconciler = "population.example.com"
	ctx, cancel := context.WithCancel(t.Context())
	m := NewPassMetrics(reconciler, tracing.Tracer{}, true)
	if err := m.Start(ctx); err != nil {
		t.Fatal(err)
	}
	api := types.NamespacedName{Namespace: "shop", Name: "api"}
	m.Restore(api, statusOf("", 0, 0))
	m.Restore(web, statusOf(metav1alpha1.StateProgressing, 3, 2))
	expect(t, "fairlead_components", reconciler, "Progressing 1")
	expect(t, "fairlead_component_dependents", reconciler, "web/shop/ready 3")
	m.End(t.Context(), web, PassEnd{
		Outcome: outcome.Outcome{Outcome: result.Outcome{RepairConflicts: make([]metav1alpha1.DependentReport, 2)}},
		Result:  status.PassResult{State: metav1alpha1.StateReady}, Status: statusOf(metav1alpha1.StateReady, 1, 4), Now: start,
	})
	m.Restore(web, statusOf(metav1alpha1.StateStalled, 0, 0))
	m.Restore(api, statusOf(metav1alpha1.StateReady, 1, 1))
	expect(t, "fairlead_components", reconciler, "Ready 2")
	expect(t, "fairlead_component_state", reconciler, "api/shop/Ready 1", "web/shop/Ready 1")
	expect(t, "fairlead_component_dependents", reconciler, "api/shop/ready 1", "web/shop/ready 1", "web/shop/unready 3")
	expect(t, "fairlead_component_repair_conflicts", reconciler, "web/shop 2")
	m.Forget(web)
	expect(t, "fairlead_component_state", reconciler, "api/shop/Ready 1")
	cancel()
	for range 1000 {
		if len(series(t, "fairlead_components", reconciler, false)) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("the components are exported after the end")
}

func TestSeriesOfSingleComponentsCanBeSwitchedOff(t *testing.T) {
	const reconciler = "totals.example.com"
	m := NewPassMetrics(reconciler, tracing.Tracer{}, false)
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.Restore(web, statusOf(metav1alpha1.StateReady, 1, 1))
	expect(t, "fairlead_components", reconciler, "Ready 1")
	expect(t, "fairlead_component_state", reconciler)
}

func TestTimeFromNewInputsToReady(t *testing.T) {
	const reconciler, metric = "inputs.example.com", "fairlead_time_to_ready_seconds"
	m := NewPassMetrics(reconciler, tracing.Tracer{}, false)
	end := func(state metav1alpha1.State, after time.Duration) {
		m.End(t.Context(), web, PassEnd{
			Result: status.PassResult{State: state}, Status: statusOf(state, 1, 1), Now: start.Add(after),
		})
	}
	end(metav1alpha1.StateReady, 0)
	expect(t, metric, reconciler)
	m.BeginInputs(web, start)
	end(metav1alpha1.StateProgressing, time.Second)
	expect(t, metric, reconciler)
	end(metav1alpha1.StateReady, 3*time.Second)
	end(metav1alpha1.StateReady, 9*time.Second)
	expect(t, metric, reconciler, " 1")
	if got := series(t, metric, reconciler, true); !slices.Equal(got, []string{" 3"}) {
		t.Errorf("got %q", got)
	}
	m.BeginInputs(web, start)
	m.Forget(web)
	end(metav1alpha1.StateReady, 12*time.Second)
	expect(t, metric, reconciler, " 1")
}
