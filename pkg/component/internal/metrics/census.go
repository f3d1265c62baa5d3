package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// Component is what is told of one component.
type Component struct {
	State string
	// Ready and Unready count its dependents, Contested those whose repairs somebody undoes.
	Ready, Unready, Contested int
}

// Population is the components of one reconciler, as its passes found them. It is safe for concurrent use.
type Population struct {
	reconciler string
	// single says that there are series for single components.
	single bool
	states []string

	mu         sync.Mutex
	components map[types.NamespacedName]Component
}

// Population returns an empty population, which is counted from Join to Leave. States are those that are told of even where no component is
// in them. Where single is not set there are no series for single components.
func (m *Meter) Population(states []string, single bool) *Population {
	return &Population{reconciler: m.reconciler, single: single, states: states, components: map[types.NamespacedName]Component{}}
}

// Join makes a population one that is counted.
func (m *Meter) Join(p *Population) { m.census.join(p) }

// Leave ends that.
func (m *Meter) Leave(p *Population) { m.census.leave(p) }

// Note enters what a pass found.
func (p *Population) Note(name types.NamespacedName, c Component) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.components[name] = c
}

// Recall enters what is known of a component from before, where no pass has found anything yet.
func (p *Population) Recall(name types.NamespacedName, c Component) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.components[name]; !known {
		p.components[name] = c
	}
}

// Forget drops a component that is gone.
func (p *Population) Forget(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.components, name)
}

// census collects the populations of a process. Series are made when they are asked for, so nothing is left of a component that is gone.
type census struct {
	byState, state, dependents, contested *prometheus.Desc

	mu          sync.Mutex
	populations []*Population
}

func newCensus() *census {
	of := []string{labelReconciler, "namespace", "name"}
	return &census{
		byState: prometheus.NewDesc("fairlead_components", "Components by state, also states that none is in.", []string{labelReconciler, "state"}, nil),
		state: prometheus.NewDesc("fairlead_component_state",
			"1 for the state that a component is in; other states have no series.", append(of[:3:3], "state"), nil),
		dependents: prometheus.NewDesc("fairlead_component_dependents",
			"Dependents of a component that are recorded, by readiness: ready or unready.", append(of[:3:3], "readiness"), nil),
		contested: prometheus.NewDesc("fairlead_component_contested_dependents",
			"Dependents of a component whose repairs somebody undoes again and again.", of, nil),
	}
}

func (c *census) join(p *Population) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.populations = append(c.populations, p)
}

func (c *census) leave(p *Population) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, q := range c.populations {
		if p == q {
			c.populations = append(c.populations[:i:i], c.populations[i+1:]...)
			return
		}
	}
}

// Describe implements prometheus.Collector.
func (c *census) Describe(into chan<- *prometheus.Desc) {
	into <- c.byState
	into <- c.state
	into <- c.dependents
	into <- c.contested
}

// Collect implements prometheus.Collector.
func (c *census) Collect(into chan<- prometheus.Metric) {
	for reconciler, t := range c.take() {
		for state, count := range t.states {
			into <- prometheus.MustNewConstMetric(c.byState, prometheus.GaugeValue, float64(count), reconciler, state)
		}
		for name, found := range t.single {
			of := []string{reconciler, name.Namespace, name.Name}
			gauge := func(desc *prometheus.Desc, value int, label ...string) {
				into <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), append(of[:3:3], label...)...)
			}
			gauge(c.state, 1, found.State)
			gauge(c.dependents, found.Ready, "ready")
			gauge(c.dependents, found.Unready, "unready")
			gauge(c.contested, found.Contested)
		}
	}
}

// tally is what is told of one reconciler.
type tally struct {
	states map[string]int
	single map[types.NamespacedName]Component
}

// take counts. Two populations of one reconciler, as at a hand-over inside of a process, may share components; these count once.
func (c *census) take() map[string]tally {
	c.mu.Lock()
	populations := append([]*Population(nil), c.populations...)
	c.mu.Unlock()
	all := map[string]map[types.NamespacedName]Component{}
	tallies := map[string]tally{}
	for _, p := range populations {
		if all[p.reconciler] == nil {
			all[p.reconciler] = map[types.NamespacedName]Component{}
			tallies[p.reconciler] = tally{states: map[string]int{}, single: map[types.NamespacedName]Component{}}
		}
		p.enter(all[p.reconciler], tallies[p.reconciler])
	}
	for reconciler, components := range all {
		for _, found := range components {
			tallies[reconciler].states[found.State]++
		}
	}
	return tallies
}

func (p *Population) enter(all map[types.NamespacedName]Component, t tally) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.states {
		t.states[s] += 0
	}
	for name, found := range p.components {
		all[name] = found
		if p.single {
			t.single[name] = found
		}
	}
}
