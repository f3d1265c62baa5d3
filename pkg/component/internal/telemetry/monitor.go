package telemetry

import (
	"context"

	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/tracing"
)

// Monitor counts and traces the actions of appliers.
type Monitor struct {
	Meter  *metrics.Meter
	Tracer tracing.Tracer
}

// Time measures a step of a pass until the returned function is called.
func (m Monitor) Time(step metrics.Step) func() { return m.Meter.StartStep(step) }

// Waves returns a Waves for one pass.
func (m Monitor) Waves() *Waves { return &Waves{tracer: m.Tracer} }

// StartAction implements execute.Monitor.
func (m Monitor) StartAction(ctx context.Context, a plan.Action) (context.Context, func(plan.Result)) {
	ctx, span := m.Tracer.StartAction(metrics.WithKind(ctx, a.Key.GroupKind()), a)
	return ctx, func(r plan.Result) {
		span.SetResult(r)
		span.End()
		if cause, repair := causes[a.Reason]; repair && r.Failure == nil && r.Verb == a.Verb && a.Verb.Writes() {
			m.Meter.CountRepair(a.Key.GroupKind(), cause)
		}
	}
}

// causes maps the reasons of repairs to the causes in the metrics. Actions with other reasons are not repairs.
var causes = map[plan.Reason]metrics.Cause{
	plan.ReasonDrifted:    metrics.CauseChanged,
	plan.ReasonMissing:    metrics.CauseDeleted,
	plan.ReasonUnlabelled: metrics.CauseUnlabelled,
}

// Waves traces the waves of a pass. All stages of a wave share one span.
type Waves struct {
	tracer  tracing.Tracer
	span    tracing.Span
	ctx     context.Context
	entered bool
	wave    int
	removes bool
}

// Enter returns a context for the actions of a plan. The context has the span of their wave.
func (t *Waves) Enter(ctx context.Context, actions []plan.Action) context.Context {
	wave, removes := actions[0].Wave, actions[0].Verb == plan.VerbDelete || actions[0].Verb == plan.VerbOrphan
	if !t.entered || t.wave != wave || t.removes != removes {
		t.span.End()
		t.entered, t.wave, t.removes = true, wave, removes
		t.ctx, t.span = t.tracer.StartWave(ctx, wave, removes)
	}
	return t.ctx
}

// End ends the span of the last wave.
func (t *Waves) End() { t.span.End() }
