package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// Component is the exported state of one component.
type Component struct {
	State string
	// Ready and Unready are the numbers of its dependents. RepairConflicts is the number of dependents with a repair
	// conflict.
	Ready, Unready, RepairConflicts int
}

// ComponentSet contains the states of the components of one reconciler after their last passes. It is safe for
// concurrent use.
type ComponentSet struct {
	reconciler string
	// perComponent exports series for each component.
	perComponent bool
	states       []string

	mu         sync.Mutex
	components map[types.NamespacedName]Component
}

// NewComponentSet returns an empty set. The set is exported after Export is called, until StopExport is called. Each of
// the states has a series, even if no component is in that state. The series for each component are exported only if
// perComponent is set.
func (m *Meter) NewComponentSet(states []string, perComponent bool) *ComponentSet {
	return &ComponentSet{
		reconciler: m.reconciler, perComponent: perComponent, states: states,
		components: map[types.NamespacedName]Component{},
	}
}

// Export starts the export of a set.
func (m *Meter) Export(p *ComponentSet) { m.components.sets.add(p) }

// StopExport stops the export of a set.
func (m *Meter) StopExport(p *ComponentSet) { m.components.sets.remove(p) }

// Set must be called with the state of a component after a pass.
func (p *ComponentSet) Set(name types.NamespacedName, c Component) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.components[name] = c
}

// SetIfUnknown sets the state that a component had before the start of the process. It does nothing if a pass has
// already set a state.
func (p *ComponentSet) SetIfUnknown(name types.NamespacedName, c Component) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.components[name]; !known {
		p.components[name] = c
	}
}

// Forget removes a deleted component from the set.
func (p *ComponentSet) Forget(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.components, name)
}

// componentCollector collects the exported sets of a process. It creates the series at each scrape.
type componentCollector struct {
	byState, state, dependents, repairConflicts *prometheus.Desc
	sets                                        exports[ComponentSet]
}

func newComponentCollector() *componentCollector {
	component := []string{labelReconciler, "namespace", "name"}
	return &componentCollector{
		byState: prometheus.NewDesc("fairlead_components",
			"Number of components by state. The number is 0 for a state without components.",
			[]string{labelReconciler, "state"}, nil),
		state: prometheus.NewDesc("fairlead_component_state",
			"1 for the current state of a component. Other states have no series.", append(component[:3:3], "state"), nil),
		dependents: prometheus.NewDesc("fairlead_component_dependents",
			"Number of recorded dependents of a component by readiness: ready or unready.",
			append(component[:3:3], "readiness"), nil),
		repairConflicts: prometheus.NewDesc("fairlead_component_repair_conflicts",
			"Number of dependents of a component whose repairs another client reverts again and again.", component, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *componentCollector) Describe(into chan<- *prometheus.Desc) {
	into <- c.byState
	into <- c.state
	into <- c.dependents
	into <- c.repairConflicts
}

// Collect implements prometheus.Collector.
func (c *componentCollector) Collect(into chan<- prometheus.Metric) {
	for reconciler, t := range c.totals() {
		for state, count := range t.states {
			into <- prometheus.MustNewConstMetric(c.byState, prometheus.GaugeValue, float64(count), reconciler, state)
		}
		for name, component := range t.components {
			labels := []string{reconciler, name.Namespace, name.Name}
			gauge := func(desc *prometheus.Desc, value int, label ...string) {
				values := append(labels[:3:3], label...)
				into <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), values...)
			}
			gauge(c.state, 1, component.State)
			gauge(c.dependents, component.Ready, "ready")
			gauge(c.dependents, component.Unready, "unready")
			gauge(c.repairConflicts, component.RepairConflicts)
		}
	}
}

// totals contains the exported numbers of one reconciler.
type totals struct {
	// states is the number of components by state.
	states map[string]int
	// components are the components that have series of their own.
	components map[types.NamespacedName]Component
}

// totals returns the exported numbers by reconciler. While a process replaces a reconciler, there are two sets for that
// reconciler. A component in both sets is counted once.
func (c *componentCollector) totals() map[string]totals {
	all := map[string]map[types.NamespacedName]Component{}
	byReconciler := map[string]totals{}
	for _, p := range c.sets.list() {
		if all[p.reconciler] == nil {
			all[p.reconciler] = map[types.NamespacedName]Component{}
			byReconciler[p.reconciler] = totals{
				states: map[string]int{}, components: map[types.NamespacedName]Component{},
			}
		}
		p.addTo(all[p.reconciler], byReconciler[p.reconciler])
	}
	for reconciler, components := range all {
		for _, component := range components {
			byReconciler[reconciler].states[component.State]++
		}
	}
	return byReconciler
}

func (p *ComponentSet) addTo(all map[types.NamespacedName]Component, t totals) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.states {
		t.states[s] += 0
	}
	for name, component := range p.components {
		all[name] = component
		if p.perComponent {
			t.components[name] = component
		}
	}
}
