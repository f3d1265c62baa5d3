package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Instruments are the series of all reconcilers of a process.
type Instruments struct {
	requests *prometheus.CounterVec
	passes   *prometheus.CounterVec
	steps    *prometheus.HistogramVec
	ready    *prometheus.HistogramVec
	repairs  *prometheus.CounterVec
	census   *census
}

const labelReconciler = "reconciler"

// Shared are the instruments of this process.
var Shared = NewInstruments()

// Register puts the shared instruments into the registry of controller-runtime, which every manager serves. It may be called again and again.
var Register = sync.OnceValue(func() error { return Shared.RegisterIn(metrics.Registry) })

// NewInstruments returns instruments that no registry has.
func NewInstruments() *Instruments {
	return &Instruments{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_requests_total",
			Help: "Requests about dependents, each attempt, by verb (create, apply, update, patch, delete, get), type and HTTP status code; <error> where there was no answer.",
		}, []string{labelReconciler, "verb", "group", "kind", "code"}),
		passes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_passes_total",
			Help: "Passes over components, by what they came to.",
		}, []string{labelReconciler, "outcome"}),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fairlead_pass_step_duration_seconds",
			Help: "Time that a step of a pass took, each time it was done: inputs, generate, observe, plan, record, execute, status.",
			// From half a millisecond to two minutes, in steps of four.
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 10),
		}, []string{labelReconciler, "step"}),
		ready: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "fairlead_time_to_ready_seconds",
			Help:    "Time from the pass that found new inputs to the one that found the component ready with them; not where the operator was restarted between.",
			Buckets: []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600},
		}, []string{labelReconciler}),
		repairs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_drift_repaired_total",
			Help: "Dependents that were put right because somebody changed, deleted or unlabelled them.",
		}, []string{labelReconciler, "group", "kind", "cause"}),
		census: newCensus(),
	}
}

// RegisterIn puts the instruments into a registry, which takes them once.
func (i *Instruments) RegisterIn(registry prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{i.requests, i.passes, i.steps, i.ready, i.repairs, i.census} {
		if err := registry.Register(c); err != nil {
			return err
		}
	}
	return nil
}
