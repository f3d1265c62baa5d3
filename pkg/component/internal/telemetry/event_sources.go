package telemetry

import (
	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
)

// CountEventSource is an eventsources.Counter.
func (m Monitor) CountEventSource(kind eventsources.Kind, name string, result eventsources.Result, n int) {
	m.Meter.CountEventSource(string(kind), name, string(result), n)
}

// ExportEventSources exports the current numbers of the event sources of a Set until the returned function is called.
func (m Monitor) ExportEventSources(of *eventsources.Set) (stop func()) {
	return m.Meter.ExportEventSources(func() []metrics.EventSource {
		counts := of.Counts()
		all := make([]metrics.EventSource, 0, len(counts))
		for _, c := range counts {
			all = append(all, metrics.EventSource{
				Kind: string(c.Kind), Name: c.Name, Values: c.Values, Stale: c.Stale, Answered: c.Answered,
			})
		}
		return all
	})
}

var _ eventsources.Counter = Monitor{}.CountEventSource
