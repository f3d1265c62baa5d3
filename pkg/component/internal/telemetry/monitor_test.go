package telemetry

import (
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var settings = manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}

func TestRepairsAreCountedByCause(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason plan.Reason
		verb   plan.Verb
		result plan.Result
		want   []string
	}{
		{"changed", plan.ReasonDrifted, plan.VerbApply, plan.Result{Verb: plan.VerbApply}, []string{"changed//ConfigMap 1"}},
		{
			"deleted",
			plan.ReasonMissing, plan.VerbCreate,
			plan.Result{Verb: plan.VerbCreate},
			[]string{"deleted//ConfigMap 1"},
		},
		{
			"unlabelled",
			plan.ReasonUnlabelled, plan.VerbApply,
			plan.Result{Verb: plan.VerbApply},
			[]string{"unlabelled//ConfigMap 1"},
		},
		{"a new object is not a repair", plan.ReasonNew, plan.VerbCreate, plan.Result{Verb: plan.VerbCreate}, nil},
		{
			"a failure is not a repair",
			plan.ReasonDrifted, plan.VerbApply,
			plan.Result{Verb: plan.VerbApply, Failure: &plan.Failure{}},
			nil,
		},
		{"a conflict is not a repair", plan.ReasonDrifted, plan.VerbApply, plan.Result{Verb: plan.VerbRead}, nil},
		{"a read is not a repair", plan.ReasonDrifted, plan.VerbRead, plan.Result{Verb: plan.VerbRead}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			reconciler := "repairs-" + c.name + ".example.com"
			m := Monitor{Meter: metrics.Shared.Meter(reconciler)}
			_, ended := m.StartAction(t.Context(), plan.Action{Verb: c.verb, Key: settings, Reason: c.reason})
			expect(t, "fairlead_drift_repaired_total", reconciler)
			ended(c.result)
			expect(t, "fairlead_drift_repaired_total", reconciler, c.want...)
		})
	}
}

func TestActionsAreTracedInTheirWave(t *testing.T) {
	const reconciler = "actions.example.com"
	tracer, spans := newTracer(t, reconciler)
	m := Monitor{Meter: metrics.Shared.Meter(reconciler), Tracer: tracer}
	waves := m.Waves()
	action := plan.Action{Verb: plan.VerbCreate, Key: settings, Wave: 1, Reason: plan.ReasonNew}
	ctx, ended := m.StartAction(waves.Enter(t.Context(), []plan.Action{action}), action)
	if ctx == t.Context() {
		t.Error("the requests of the action are not marked")
	}
	ended(plan.Result{Verb: plan.VerbRead, Failure: &plan.Failure{Reason: plan.WaitForbidden, Message: "no"}})
	waves.End()
	got := spans()
	if len(got) != 2 || got[0].Name != "Create ConfigMap" || got[0].Parent.SpanID() != got[1].SpanContext.SpanID() {
		t.Fatalf("got %+v", got)
	}
	if attributeOf(got[0], "fairlead.verb") != "Read" || got[0].Status.Description != "no" {
		t.Errorf("got %+v", got[0])
	}
}

func TestStagesOfAWaveShareASpan(t *testing.T) {
	tracer, spans := newTracer(t, "waves.example.com")
	waves := Monitor{Tracer: tracer}.Waves()
	enter := func(wave int, verbs ...plan.Verb) {
		var actions []plan.Action
		for _, verb := range verbs {
			actions = append(actions, plan.Action{Verb: verb, Wave: wave})
		}
		waves.Enter(t.Context(), actions)
	}
	enter(0, plan.VerbCreate, plan.VerbApply)
	enter(0, plan.VerbRead)
	enter(1, plan.VerbCreate)
	enter(1, plan.VerbDelete)
	enter(1, plan.VerbOrphan)
	enter(2, plan.VerbOrphan)
	waves.End()
	var got []string
	for _, span := range spans() {
		got = append(got, attributeOf(span, "fairlead.wave")+" "+attributeOf(span, "fairlead.wave.removes"))
	}
	if want := []string{"0 false", "1 false", "1 true", "2 true"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWavesThatWereNotEnteredEnd(t *testing.T) {
	tracer, spans := newTracer(t, "none.example.com")
	Monitor{Tracer: tracer}.Waves().End()
	if got := spans(); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestStepsAreMeasured(t *testing.T) {
	const reconciler = "steps.example.com"
	Monitor{Meter: metrics.Shared.Meter(reconciler)}.Time(metrics.StepPlan)()
	NewPassMetrics(reconciler, newPassTracer(t, reconciler), false).Time(metrics.StepStatus)()
	expect(t, "fairlead_pass_step_duration_seconds", reconciler, "plan 1", "status 1")
}
