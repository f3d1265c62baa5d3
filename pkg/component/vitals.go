package component

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/tracing"
)

// What passes came to, besides the states of components.
const (
	outcomeObserving   = "Observing"
	outcomeRetrying    = "Retrying"
	outcomeInterrupted = "Interrupted"
	outcomeDeleted     = "Deleted"
	outcomeFailed      = "Failed"
)

// states are told of even where no component is in them.
var states = []string{
	string(metav1alpha1.StateReady), string(metav1alpha1.StateProgressing), string(metav1alpha1.StateStalled),
	string(metav1alpha1.StateSuspended), string(metav1alpha1.StateDeleting), string(metav1alpha1.StateDeletionBlocked),
}

// vitals tell, by metrics and traces, how a reconciler and its components are doing.
type vitals struct {
	meter      *metrics.Meter
	tracer     tracing.Tracer
	population *metrics.Population

	mu sync.Mutex
	// entered is when the inputs were new that a component is not ready with yet.
	entered map[types.NamespacedName]time.Time
}

func newVitals(reconciler string, o Options) *vitals {
	meter := metrics.Shared.Meter(reconciler)
	return &vitals{
		meter: meter, tracer: tracing.New(o.TracerProvider, reconciler), population: meter.Population(states, !o.SkipComponentMetrics),
		entered: map[types.NamespacedName]time.Time{},
	}
}

// show counts the components until ctx ends.
func (v *vitals) show(ctx context.Context) error {
	if err := metrics.Register(); err != nil {
		return fmt.Errorf("register the metrics: %w", err)
	}
	v.meter.Join(v.population)
	context.AfterFunc(ctx, func() { v.meter.Leave(v.population) })
	return nil
}

// recall enters the state that a component was in when a pass began, for those that this process knows nothing of.
func (v *vitals) recall(component Component) {
	if status := component.GetStatus(); status.State != "" {
		v.population.Recall(client.ObjectKeyFromObject(component), counted(status))
	}
}

func counted(status *metav1alpha1.Status) metrics.Component {
	ready, total := int(status.Dependents.Ready), int(status.Dependents.Total)
	return metrics.Component{State: string(status.State), Ready: ready, Unready: max(0, total-ready)}
}

// renewed notes that a component has new inputs.
func (v *vitals) renewed(name types.NamespacedName, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.entered[name] = now
}

// ready notes that a component is ready with its inputs.
func (v *vitals) ready(name types.NamespacedName, now time.Time) {
	v.mu.Lock()
	since, entered := v.entered[name]
	delete(v.entered, name)
	v.mu.Unlock()
	if entered {
		v.meter.BecameReady(now.Sub(since))
	}
}

func (v *vitals) forget(name types.NamespacedName) {
	v.mu.Lock()
	delete(v.entered, name)
	v.mu.Unlock()
	v.population.Forget(name)
}

// passed tells what a pass came to where no status says so.
func (v *vitals) passed(ctx context.Context, outcome string, err error) {
	v.meter.Pass(outcome)
	v.tracer.Outcome(ctx, outcome, "")
	if err != nil {
		v.tracer.Fail(ctx, err.Error())
	}
}

// concluded tells what a pass came to by the verdict and the status that it ended with.
func (r *Reconciler[T]) concluded(ctx context.Context, component T, o outcome.Outcome, p *condition.Error, v status.Verdict) {
	outcome, failed := string(v.State), failing(o, p)
	if failed && !v.NeedsPerson() {
		outcome = outcomeRetrying
	}
	r.vitals.meter.Pass(outcome)
	r.vitals.tracer.Outcome(ctx, outcome, v.Reason)
	if failed || v.NeedsPerson() {
		r.vitals.tracer.Fail(ctx, v.Message)
	}
	name, known := client.ObjectKeyFromObject(component), counted(component.GetStatus())
	known.Contested = len(o.Contested)
	r.vitals.population.Note(name, known)
	if v.State == metav1alpha1.StateReady {
		r.vitals.ready(name, r.clock.Now())
	}
}

// failing says that something went wrong in a pass: it is retried, or needs a person.
func failing(o outcome.Outcome, p *condition.Error) bool {
	if p != nil {
		return p.Reason != metav1alpha1.ReasonSuspended && p.Reason != metav1alpha1.ReasonForeignFinalizers
	}
	failed, _ := o.Failures()
	return len(failed) > 0
}
