package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Memory is the memory budget of a reconciler.
type Memory struct {
	// Bytes is the budget, and Reserved the part of it that components have.
	Bytes, Reserved int64
	// Waiting is the number of components that wait for memory.
	Waiting int
}

// memoryCollector exports the memory budgets of reconcilers. Reconcilers without a budget have no series.
type memoryCollector struct {
	bytes, reserved, waiting *prometheus.Desc

	mu    sync.Mutex
	usage map[string]func() Memory
}

func newMemoryCollector() *memoryCollector {
	labels := []string{labelReconciler}
	return &memoryCollector{
		bytes: prometheus.NewDesc("fairlead_memory_budget_bytes",
			"Memory for sources, renderings and records that are in use, over all components.", labels, nil),
		reserved: prometheus.NewDesc("fairlead_memory_reserved_bytes",
			"Part of the memory budget that components have at the moment, by an estimate.", labels, nil),
		waiting: prometheus.NewDesc("fairlead_memory_waiting_components",
			"Components that wait for memory of the budget.", labels, nil),
		usage: map[string]func() Memory{},
	}
}

// ExportMemory exports the memory budget of the reconciler.
func (m *Meter) ExportMemory(usage func() Memory) { m.memory.set(m.reconciler, usage) }

// StopExportMemory ends the export of the memory budget.
func (m *Meter) StopExportMemory() { m.memory.set(m.reconciler, nil) }

func (c *memoryCollector) set(reconciler string, usage func() Memory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if usage == nil {
		delete(c.usage, reconciler)
		return
	}
	c.usage[reconciler] = usage
}

// Describe implements prometheus.Collector.
func (c *memoryCollector) Describe(into chan<- *prometheus.Desc) {
	into <- c.bytes
	into <- c.reserved
	into <- c.waiting
}

// Collect implements prometheus.Collector.
func (c *memoryCollector) Collect(into chan<- prometheus.Metric) {
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
