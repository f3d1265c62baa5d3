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
	// renderings counts the time of renderings, and namespaces limits the values of its label.
	renderings   *prometheus.CounterVec
	namespaces   names
	components   *componentCollector
	budget       *budgetCollector
	externals    *externalCollector
	eventSources *eventSourceCollector
}

const labelReconciler = "reconciler"

// maxNamespaces is the maximum number of namespaces with series of their own, for each reconciler.
const maxNamespaces = 1000

// Shared holds the series of this process.
var Shared = NewInstruments()

// Register adds the shared instruments to the registry of controller-runtime, which every manager serves. It may be
// called several times.
var Register = sync.OnceValue(func() error { return Shared.RegisterIn(metrics.Registry) })

// NewInstruments returns instruments that are in no registry.
func NewInstruments() *Instruments {
	return &Instruments{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_requests_total",
			Help: "Requests for dependents, including retries, by verb (create, apply, update, patch, delete, get), " +
				"type and HTTP status code. The code is <error> if there was no response.",
		}, []string{labelReconciler, "verb", "group", "kind", "code"}),
		passes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_passes_total",
			Help: "Passes over components, by outcome.",
		}, []string{labelReconciler, "outcome"}),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fairlead_pass_step_duration_seconds",
			Help: "Duration of each execution of a step of a pass: inputs, generate, observe, plan, record, execute, status.",
			// The buckets range from half a millisecond to two minutes. Each bucket is four times the previous bucket.
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 10),
		}, []string{labelReconciler, "step"}),
		ready: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fairlead_time_to_ready_seconds",
			Help: "Time from the pass that found new inputs to the pass that found the component ready with them. " +
				"It is not measured across a restart of the operator.",
			Buckets: []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600},
		}, []string{labelReconciler}),
		repairs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_drift_repaired_total",
			Help: "Repairs of dependents that another client changed or deleted, or whose owner label it removed.",
		}, []string{labelReconciler, "group", "kind", "cause"}),
		renderings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_rendering_seconds_total",
			Help: "Time that renderings took, also stopped and killed ones, without the time in line for a process, by " +
				"the namespace of the component. The namespace is <other> after the first 1,000 namespaces.",
		}, []string{labelReconciler, "namespace"}),
		namespaces:   names{limit: maxNamespaces},
		components:   newComponentCollector(),
		budget:       newBudgetCollector(),
		externals:    newExternalCollector(),
		eventSources: newEventSourceCollector(),
	}
}

// RegisterIn adds the instruments to a registry. It returns an error if the registry has them already.
func (i *Instruments) RegisterIn(registry prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{
		i.requests, i.passes, i.steps, i.ready, i.repairs, i.renderings, i.components, i.budget, i.externals, i.eventSources,
	} {
		if err := registry.Register(c); err != nil {
			return err
		}
	}
	return nil
}
