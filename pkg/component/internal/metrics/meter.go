package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Step is a part of a pass.
type Step string

// The steps in the order of a pass. The steps plan, record and execute alternate.
const (
	StepInputs   Step = "inputs"
	StepGenerate Step = "generate"
	StepObserve  Step = "observe"
	StepPlan     Step = "plan"
	StepRecord   Step = "record"
	StepExecute  Step = "execute"
	StepStatus   Step = "status"
)

var steps = []Step{StepInputs, StepGenerate, StepObserve, StepPlan, StepRecord, StepExecute, StepStatus}

// Cause is the change by another client that made a repair necessary.
type Cause string

// The causes.
const (
	CauseChanged    Cause = "changed"
	CauseDeleted    Cause = "deleted"
	CauseUnlabelled Cause = "unlabelled"
)

// Meter counts the work of one reconciler. It finds existing counters without a lock. It is safe for concurrent use.
type Meter struct {
	reconciler string
	*Instruments
	stepTimes map[Step]prometheus.Observer
	// requestCounts contains a prometheus.Counter for each requestKey, and outcomes a prometheus.Counter for each
	// outcome.
	requestCounts, outcomes sync.Map
}

// Meter returns the meter of a reconciler.
func (i *Instruments) Meter(reconciler string) *Meter {
	m := &Meter{reconciler: reconciler, Instruments: i, stepTimes: make(map[Step]prometheus.Observer, len(steps))}
	for _, s := range steps {
		m.stepTimes[s] = i.steps.WithLabelValues(reconciler, string(s))
	}
	return m
}

// CountPass counts a pass that has ended with the given outcome.
func (m *Meter) CountPass(outcome string) {
	counter(&m.outcomes, outcome, func() prometheus.Counter {
		return m.passes.WithLabelValues(m.reconciler, outcome)
	}).Inc()
}

// StartStep starts the measurement of a step's duration. The caller must call the returned function at the end of the
// step.
func (m *Meter) StartStep(s Step) (end func()) {
	began, step := time.Now(), m.stepTimes[s]
	return func() { step.Observe(time.Since(began).Seconds()) }
}

// CountRepair counts a repair of a dependent.
func (m *Meter) CountRepair(kind schema.GroupKind, cause Cause) {
	m.repairs.WithLabelValues(m.reconciler, kind.Group, kind.Kind, string(cause)).Inc()
}

// CountRendering counts the time that a rendering for a component of a namespace took.
func (m *Meter) CountRendering(namespace string, took time.Duration) {
	m.renderings.WithLabelValues(m.reconciler, m.namespaces.of(m.reconciler, namespace)).Add(took.Seconds())
}

// ObserveTimeToReady observes the time from new inputs to a ready component.
func (m *Meter) ObserveTimeToReady(after time.Duration) {
	m.ready.WithLabelValues(m.reconciler).Observe(after.Seconds())
}

// counter returns the counter of a key, and creates it if it does not exist.
func counter(known *sync.Map, key any, create func() prometheus.Counter) prometheus.Counter {
	if found, ok := known.Load(key); ok {
		if c, ok := found.(prometheus.Counter); ok {
			return c
		}
	}
	made := create()
	known.Store(key, made)
	return made
}
