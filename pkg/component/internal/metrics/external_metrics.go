package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxExternalKinds is the maximum number of kinds of externals with series of their own, for each reconciler. Tenants
// choose the kinds of the services in their specs.
const maxExternalKinds = 200

// ExternalCounter returns the current numbers of externals, by kind and state.
type ExternalCounter func() map[string]map[string]int

// CountExternalCall counts a call about an external, and its duration.
func (m *Meter) CountExternalCall(kind, method, result string, took time.Duration) {
	kind = m.externals.kinds.of(m.reconciler, kind)
	m.externals.calls.WithLabelValues(m.reconciler, kind, method, result).Inc()
	m.externals.durations.WithLabelValues(m.reconciler, kind, method).Observe(took.Seconds())
}

// ExportExternals exports the numbers of externals until the returned function is called.
func (m *Meter) ExportExternals(count ExternalCounter) (stop func()) {
	return m.externals.exports.add(&externalExport{reconciler: m.reconciler, count: count})
}

// externalExport contains the externals of one controller.
type externalExport struct {
	reconciler string
	count      ExternalCounter
}

// externalCollector collects the series of externals. The numbers are computed at each scrape.
type externalCollector struct {
	calls     *prometheus.CounterVec
	durations *prometheus.HistogramVec
	byState   *prometheus.Desc
	exports   exports[externalExport]
	kinds     names
}

func newExternalCollector() *externalCollector {
	return &externalCollector{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_external_calls_total",
			Help: "Calls about dependents outside Kubernetes, by kind, method (observe, create, update, delete, find, " +
				"list) and result (ok, not-found, exists, refused, try-later, failed).",
		}, []string{labelReconciler, "kind", "method", "result"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "fairlead_external_call_duration_seconds",
			Help:    "Duration of calls about dependents outside Kubernetes, by kind and method.",
			Buckets: []float64{0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300},
		}, []string{labelReconciler, "kind", "method"}),
		byState: prometheus.NewDesc("fairlead_externals",
			"Number of dependents outside Kubernetes by kind and state: ready, not-ready, failed, uncertain, absent. A kind "+
				"has all states while the operator knows an external of it.",
			[]string{labelReconciler, "kind", "state"}, nil),
		kinds: names{limit: maxExternalKinds},
	}
}

// Describe implements prometheus.Collector.
func (c *externalCollector) Describe(into chan<- *prometheus.Desc) {
	c.calls.Describe(into)
	c.durations.Describe(into)
	into <- c.byState
}

// Collect implements prometheus.Collector.
func (c *externalCollector) Collect(into chan<- prometheus.Metric) {
	c.calls.Collect(into)
	c.durations.Collect(into)
	type series struct{ reconciler, kind, state string }
	counts := map[series]int{}
	for _, s := range c.exports.list() {
		for kind, states := range s.count() {
			kind = c.kinds.of(s.reconciler, kind)
			for state, count := range states {
				counts[series{s.reconciler, kind, state}] += count
			}
		}
	}
	for s, count := range counts {
		into <- prometheus.MustNewConstMetric(
			c.byState, prometheus.GaugeValue, float64(count), s.reconciler, s.kind, s.state)
	}
}
