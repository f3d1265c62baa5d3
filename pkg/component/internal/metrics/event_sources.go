package metrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxEventSources is the maximum number of event sources with series of their own, for each reconciler. They come and
// go at run time, so the number of their names has no limit.
const maxEventSources = 100

// EventSource holds the current numbers of an event source.
type EventSource struct {
	Kind, Name string
	// Values is the number of values, Stale the number of components without a current value.
	Values, Stale int
	// Answered is the time of the last fetch, list or received value; zero if there was none.
	Answered time.Time
}

// CountEventSource counts results of an event source, such as woke or equal.
func (m *Meter) CountEventSource(kind, name, result string, n int) {
	name = m.eventSources.names.of(m.reconciler, name)
	m.eventSources.results.WithLabelValues(m.reconciler, kind, name, result).Add(float64(n))
}

// ExportEventSources exports the current numbers of the event sources until the returned function is called.
func (m *Meter) ExportEventSources(current func() []EventSource) (stop func()) {
	return m.eventSources.exports.add(&eventSourceExport{reconciler: m.reconciler, current: current})
}

// eventSourceExport contains the event sources of one controller.
type eventSourceExport struct {
	reconciler string
	current    func() []EventSource
}

// eventSourceCollector collects the series of event sources. The gauges are computed at each scrape.
type eventSourceCollector struct {
	results                 *prometheus.CounterVec
	values, stale, answered *prometheus.Desc
	exports                 exports[eventSourceExport]
	names                   names
}

func newEventSourceCollector() *eventSourceCollector {
	labels := []string{labelReconciler, "kind", "source"}
	return &eventSourceCollector{
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_source_results_total",
			Help: "Results of event sources, by kind (related, polling, polling-each, inbound), source and result: woke (a " +
				"component), equal (a value or an object that did not differ), filtered (an event that Added, Changed or " +
				"Deleted leaves out), failed (a fetch, a list, a watch, or the read of a changed object), dropped (a received " +
				"value, before the first pass over its component).",
		}, append(slices.Clone(labels), "result")),
		values: prometheus.NewDesc("fairlead_source_values",
			"Number of values or related objects that an event source holds.", labels, nil),
		stale: prometheus.NewDesc("fairlead_source_stale_components",
			"Number of components for which an event source has no current value. They have the condition InputStale.",
			labels, nil),
		answered: prometheus.NewDesc("fairlead_source_last_answer_timestamp_seconds",
			"Time of the last fetch or list of an event source that succeeded, or of its last event or received value.",
			labels, nil),
		names: names{limit: maxEventSources},
	}
}

// Describe implements prometheus.Collector.
func (c *eventSourceCollector) Describe(into chan<- *prometheus.Desc) {
	c.results.Describe(into)
	into <- c.values
	into <- c.stale
	into <- c.answered
}

// Collect implements prometheus.Collector.
func (c *eventSourceCollector) Collect(into chan<- prometheus.Metric) {
	c.results.Collect(into)
	type series struct{ reconciler, kind, source string }
	sums := map[series]EventSource{}
	for _, e := range c.exports.list() {
		for _, source := range e.current() {
			key := series{e.reconciler, source.Kind, c.names.of(e.reconciler, source.Name)}
			sum := sums[key]
			sum.Values += source.Values
			sum.Stale += source.Stale
			if source.Answered.After(sum.Answered) {
				sum.Answered = source.Answered
			}
			sums[key] = sum
		}
	}
	for s, sum := range sums {
		gauge := func(of *prometheus.Desc, value float64) {
			into <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, s.reconciler, s.kind, s.source)
		}
		gauge(c.values, float64(sum.Values))
		gauge(c.stale, float64(sum.Stale))
		if !sum.Answered.IsZero() {
			gauge(c.answered, float64(sum.Answered.UnixMilli())/float64(time.Second/time.Millisecond))
		}
	}
}
