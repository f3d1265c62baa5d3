package component

import (
	"context"

	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/tracing"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// monitor counts what an engine does, and traces it.
type monitor struct {
	meter  *metrics.Meter
	tracer tracing.Tracer
}

// Acting implements execute.Monitor.
func (m monitor) Acting(ctx context.Context, a plan.Action) (context.Context, func(plan.Result)) {
	ctx, span := m.tracer.Action(metrics.WithKind(ctx, a.Key.GroupKind()), a)
	return ctx, func(r plan.Result) {
		span.Result(r)
		span.End()
		if cause, repair := causes[a.Reason]; repair && r.Failure == nil && r.Verb == a.Verb && a.Verb.Writes() {
			m.meter.Repaired(a.Key.GroupKind(), cause)
		}
	}
}

// causes are what is behind the reasons of repairs.
var causes = map[plan.Reason]metrics.Cause{
	plan.ReasonDrifted:    metrics.CauseChanged,
	plan.ReasonMissing:    metrics.CauseDeleted,
	plan.ReasonUnlabelled: metrics.CauseUnlabelled,
}

// traced is the wave that a pass is in.
type traced struct {
	tracer  tracing.Tracer
	span    tracing.Span
	ctx     context.Context
	entered bool
	wave    int
	removes bool
}

// enter returns the context of the actions of a plan. Stages of the same wave share a span.
func (t *traced) enter(ctx context.Context, actions []plan.Action) context.Context {
	wave, removes := actions[0].Wave, actions[0].Verb == plan.VerbDelete || actions[0].Verb == plan.VerbOrphan
	if !t.entered || t.wave != wave || t.removes != removes {
		t.span.End()
		t.entered, t.wave, t.removes = true, wave, removes
		t.ctx, t.span = t.tracer.Wave(ctx, wave, removes)
	}
	return t.ctx
}

// end ends the span of the last wave.
func (t *traced) end() { t.span.End() }

func (e *Engine) plan(planner func(plan.Facts) plan.Plan, facts plan.Facts) plan.Plan {
	defer e.monitor.meter.Time(metrics.StepPlan)()
	return planner(facts)
}

// home is the namespace of a component, as far as that is where the dependents are.
func (e *Engine) home(owner manifests.Owner) string {
	if e.elsewhere {
		return ""
	}
	return owner.Namespace
}

// execute carries out the actions of a plan; none begins once stop is closed.
func (e *Engine) execute(ctx context.Context, t *traced, p Pass, actions []plan.Action) []plan.Result {
	defer e.monitor.meter.Time(metrics.StepExecute)()
	return e.executor.For(e.home(p.Owner)).Run(t.enter(ctx, actions), p.Superseded, actions)
}
