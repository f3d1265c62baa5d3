package telemetry

import (
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/sources"
)

// CountSource is a sources.Counter.
func (m Monitor) CountSource(kind sources.Kind, name string, result sources.Result, n int) {
	m.Meter.CountSource(string(kind), name, string(result), n)
}

// ExportSources exports the current numbers of the event sources of a Set until the returned function is called.
func (m Monitor) ExportSources(of *sources.Set) (stop func()) {
	return m.Meter.ExportSources(func() []metrics.EventSource {
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

var _ sources.Counter = Monitor{}.CountSource
