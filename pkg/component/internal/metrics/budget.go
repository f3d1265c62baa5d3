package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Budget is the memory budget of a reconciler.
type Budget struct {
	// Bytes is the budget, and Reserved the part of it that components have.
	Bytes, Reserved int64
	// Waiting is the number of components that wait for memory.
	Waiting int
}

// budgetCollector exports the memory budgets of reconcilers. Reconcilers without a budget have no series.
type budgetCollector struct {
	bytes, reserved, waiting *prometheus.Desc

	mu    sync.Mutex
	usage map[string]func() Budget
}

func newBudgetCollector() *budgetCollector {
	labels := []string{labelReconciler}
	return &budgetCollector{
		bytes: prometheus.NewDesc("fairlead_memory_budget_bytes",
			"Memory for sources, renderings and records that are in use, over all components.", labels, nil),
		reserved: prometheus.NewDesc("fairlead_memory_reserved_bytes",
			"Part of the memory budget that components have at the moment, by an estimate.", labels, nil),
		waiting: prometheus.NewDesc("fairlead_memory_waiting_components",
			"Components that wait for memory of the budget.", labels, nil),
		usage: map[string]func() Budget{},
	}
}

// ExportBudget exports the memory budget of the reconciler.
func (m *Meter) ExportBudget(usage func() Budget) { m.budget.set(m.reconciler, usage) }

// StopExportBudget ends the export of the memory budget.
func (m *Meter) StopExportBudget() { m.budget.set(m.reconciler, nil) }

func (c *budgetCollector) set(reconciler string, usage func() Budget) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if usage == nil {
		delete(c.usage, reconciler)
		return
	}
	c.usage[reconciler] = usage
}

// Describe implements prometheus.Collector.
func (c *budgetCollector) Describe(into chan<- *prometheus.Desc) {
	into <- c.bytes
	into <- c.reserved
	into <- c.waiting
}

// Collect implements prometheus.Collector.
func (c *budgetCollector) Collect(into chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for reconciler, usage := range c.usage {
		now := usage()
		for desc, value := range map[*prometheus.Desc]float64{
			c.bytes: float64(now.Bytes), c.reserved: float64(now.Reserved), c.waiting: float64(now.Waiting),
		} {
			into <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, reconciler)
		}
	}
}
