package telemetry

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/tracing"
)

// Results of passes that are not states of components.
const (
	ResultObserving      = "Observing"
	ResultWaiting        = "WaitingForMemory"
	ResultWaitingForTurn = "WaitingForTurn"
	resultRetrying       = "Retrying"
	ResultInterrupted    = "Interrupted"
	ResultDeleted        = "Deleted"
	ResultFailed         = "Failed"
)

// states are the states for which the number of components is exported even if the number is 0.
var states = []string{
	string(metav1alpha1.StateReady), string(metav1alpha1.StateProgressing), string(metav1alpha1.StateStalled),
	string(metav1alpha1.StateSuspended), string(metav1alpha1.StateDeleting), string(metav1alpha1.StateDeletionBlocked),
}

// PassMetrics writes the metrics and traces of a reconciler and its components.
type PassMetrics struct {
	meter      *metrics.Meter
	tracer     tracing.Tracer
	components *metrics.ComponentSet

	mu sync.Mutex
	// entered is the time at which new inputs of a component were found. It is removed when the component is ready with
	// these inputs.
	entered map[types.NamespacedName]time.Time
}

// NewPassMetrics returns the metrics of a reconciler; perComponent adds the series of single components.
func NewPassMetrics(reconciler string, tracer tracing.Tracer, perComponent bool) *PassMetrics {
	meter := metrics.Shared.Meter(reconciler)
	return &PassMetrics{
		meter: meter, tracer: tracer, components: meter.NewComponentSet(states, perComponent),
		entered: map[types.NamespacedName]time.Time{},
	}
}

// Time measures a step of a pass until the returned function is called.
func (v *PassMetrics) Time(step metrics.Step) func() { return v.meter.StartStep(step) }

// Span begins the span of a pass.
func (v *PassMetrics) Span(
	ctx context.Context,
	kind string,
	name types.NamespacedName,
	generation int64,
) (context.Context, tracing.Span) {
	return v.tracer.StartPass(ctx, kind, name, generation)
}

// Start exports the components until ctx ends.
func (v *PassMetrics) Start(ctx context.Context) error {
	if err := metrics.Register(); err != nil {
		return fmt.Errorf("register the metrics: %w", err)
	}
	v.meter.Export(v.components)
	context.AfterFunc(ctx, func() { v.meter.StopExport(v.components) })
	return nil
}

// ExportBudget exports the use of a memory budget until ctx ends. A budget without a limit has no metrics.
func (v *PassMetrics) ExportBudget(ctx context.Context, b *budget.Budget) {
	if b == nil {
		return
	}
	v.meter.ExportBudget(func() metrics.Budget { return metrics.Budget(b.Usage()) })
	context.AfterFunc(ctx, v.meter.StopExportBudget)
}

// CountRendering counts the time that a rendering for a component of a namespace took.
func (v *PassMetrics) CountRendering(namespace string, took time.Duration) {
	v.meter.CountRendering(namespace, took)
}

// Restore sets the recorded state of a component at the start of a pass, if no earlier pass of this process has set a
// state.
func (v *PassMetrics) Restore(name types.NamespacedName, s *metav1alpha1.Status) {
	if s.State != "" {
		v.components.SetIfUnknown(name, counted(s))
	}
}

func counted(s *metav1alpha1.Status) metrics.Component {
	ready, total := int(s.Dependents.Ready), int(s.Dependents.Total)
	return metrics.Component{State: string(s.State), Ready: ready, Unready: max(0, total-ready)}
}

// BeginInputs stores the time at which new inputs of a component were found.
func (v *PassMetrics) BeginInputs(name types.NamespacedName, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.entered[name] = now
}

// ready measures the time since the new inputs of a component that has become ready.
func (v *PassMetrics) ready(name types.NamespacedName, now time.Time) {
	v.mu.Lock()
	since, entered := v.entered[name]
	delete(v.entered, name)
	v.mu.Unlock()
	if entered {
		v.meter.ObserveTimeToReady(now.Sub(since))
	}
}

// Forget removes a component from the metrics.
func (v *PassMetrics) Forget(name types.NamespacedName) {
	v.mu.Lock()
	delete(v.entered, name)
	v.mu.Unlock()
	v.components.Forget(name)
}

// Pass counts a pass that ended without a state of the component.
func (v *PassMetrics) Pass(ctx context.Context, result string, err error) {
	v.meter.CountPass(result)
	v.tracer.SetOutcome(ctx, result, "")
	if err != nil {
		v.tracer.SetFailure(ctx, err.Error())
	}
}

// End counts a pass by the state in which it found the component, and exports that state.
func (v *PassMetrics) End(ctx context.Context, name types.NamespacedName, end PassEnd) {
	result, failed := string(end.Result.State), failing(end.Outcome, end.Failure)
	if failed && !end.Result.NeedsPerson() {
		result = resultRetrying
	}
	v.meter.CountPass(result)
	v.tracer.SetOutcome(ctx, result, end.Result.Reason)
	if failed || end.Result.NeedsPerson() {
		v.tracer.SetFailure(ctx, end.Result.Message)
	}
	known := counted(end.Status)
	known.RepairConflicts = len(end.Outcome.RepairConflicts)
	v.components.Set(name, known)
	if end.Result.State == metav1alpha1.StateReady {
		v.ready(name, end.Now)
	}
}

// PassEnd describes the end of a pass whose result is reported in the status.
type PassEnd struct {
	Outcome outcome.Outcome
	// Failure is the error that ended the pass, nil without one.
	Failure *passerror.Error
	Result  status.PassResult
	Status  *metav1alpha1.Status
	Now     time.Time
}

// failing reports whether a pass failed, so that it is retried or a person has to act.
func failing(o outcome.Outcome, p *passerror.Error) bool {
	if p != nil {
		return !p.Waits
	}
	failed, _ := o.Failures()
	return len(failed) > 0
}
