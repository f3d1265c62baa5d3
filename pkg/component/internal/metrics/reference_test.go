package metrics

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/internal/reference"
)

func TestReferenceOfMetrics(t *testing.T) {
	var rows [][]string
	for _, family := range metricsInUse(t) {
		var labels []string
		for _, l := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, reference.Code(l.GetName()))
		}
		rows = append(rows, []string{
			reference.Code(family.GetName()), strings.ToLower(family.GetType().String()), strings.Join(labels, ", "),
			reference.Prose(strings.TrimSuffix(family.GetHelp(), ".")),
		})
	}
	const head = "# Metrics\n\nThe metrics of all operators that are built with the library. " +
		"[Monitoring](../monitoring.md) explains them.\n\n"
	reference.Check(t, "metrics.md", head+reference.Table([]string{"metric", "type", "labels", "meaning"}, rows))
}

// metricsInUse returns all metrics, each with one series, sorted by name.
func metricsInUse(t *testing.T) []*dto.MetricFamily {
	t.Helper()
	registry, instruments := prometheus.NewPedanticRegistry(), NewInstruments()
	if err := instruments.RegisterIn(registry); err != nil {
		t.Fatal(err)
	}
	m := instruments.Meter(reconciler)
	m.CountPass("Ready")
	m.ObserveTimeToReady(0)
	m.CountRepair(configMaps, CauseChanged)
	m.CountRendering("shop", 0)
	m.request(requestKey{kind: configMaps, verb: "get", code: 200}).Inc()
	p := m.NewComponentSet(nil, true)
	m.Export(p)
	m.CountEventSource("polling", "rates", "woke", 1)
	m.ExportEventSources(func() []EventSource {
		return []EventSource{{Kind: "polling", Name: "rates", Answered: time.Unix(1, 0)}}
	})
	m.ExportBudget(func() Budget { return Budget{} })
	p.Set(types.NamespacedName{Name: "shop"}, Component{State: "Ready"})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return families
}
