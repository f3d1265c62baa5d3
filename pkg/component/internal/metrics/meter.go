package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Step is a part of a pass.
type Step string

// The steps, in the order of a pass; plan, record and execute take turns.
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

// Cause says what somebody did to a dependent that had to be repaired.
type Cause string

// The causes.
const (
	CauseChanged    Cause = "changed"
	CauseDeleted    Cause = "deleted"
	CauseUnlabelled Cause = "unlabelled"
)

// Meter counts the work of one reconciler. Counters are looked up without a lock once they exist. It is safe for concurrent use.
type Meter struct {
	reconciler string
	*Instruments
	stepTimes map[Step]prometheus.Observer
	// requestCounts holds a prometheus.Counter by requestKey; outcomes one by outcome.
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

// Pass counts a pass that ended.
func (m *Meter) Pass(outcome string) {
	counter(&m.outcomes, outcome, func() prometheus.Counter { return m.passes.WithLabelValues(m.reconciler, outcome) }).Inc()
}

// Time begins a step; the returned function ends it.
func (m *Meter) Time(s Step) (end func()) {
	began, step := time.Now(), m.stepTimes[s]
	return func() { step.Observe(time.Since(began).Seconds()) }
}

// Repaired counts a repair of a dependent.
func (m *Meter) Repaired(kind schema.GroupKind, cause Cause) {
	m.repairs.WithLabelValues(m.reconciler, kind.Group, kind.Kind, string(cause)).Inc()
}

// BecameReady tells how long it took.
func (m *Meter) BecameReady(after time.Duration) {
	m.ready.WithLabelValues(m.reconciler).Observe(after.Seconds())
}

// counter returns the counter of a key, which is made where it is not known yet.
func counter[K comparable](known *sync.Map, key K, create func() prometheus.Counter) prometheus.Counter {
	if found, ok := known.Load(key); ok {
		if c, ok := found.(prometheus.Counter); ok {
			return c
		}
	}
	made := create()
	known.Store(key, made)
	return made
}
