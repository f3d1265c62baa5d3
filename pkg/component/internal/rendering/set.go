package rendering

import (
	"sync"

	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Rendered are the manifests of a rendering, with what is known about them.
type Rendered struct {
	Manifests Manifests
	Lookups   lookup.Lookups
	// ID identifies the record of a rendering with values that differ each time, and Note names these values. Both are
	// empty for a deterministic rendering.
	ID, Note string
	// ValuesLost is set if the applied objects have other values, which are lost: they stay until the inputs change.
	ValuesLost bool
	// results are those of the generator; nil if it was not called.
	results *results
}

// Set is the normalised set of a component.
type Set struct {
	Rendered
	// Objects are packed: a pass without changes needs no bodies, and a pass that writes needs them one by one.
	Objects []manifests.Object
	// Lost is the reason why a pinned rendering could not be read, empty if it could. It is also set beside an error.
	Lost string

	// inputs and cluster are the input digest and the cluster that the set was rendered for.
	inputs, cluster string
	// size is the memory that the set takes, in bytes.
	size int
	// resets counts how often the RESTMapper had been reset when the objects were normalised.
	resets int
}

// Desired returns the apply set.
func (s Set) Desired() []manifests.Object {
	desired, _ := plan.OfPhase(s.Objects, manifests.PhaseApply)
	return desired
}

// Phases returns the objects that a deletion applies.
func (s Set) Phases() []manifests.Object {
	_, phases := plan.OfPhase(s.Objects, manifests.PhaseApply)
	return phases
}

// Results returns the results of the generator; called is false if the set was kept and the generator was not called.
func (s Set) Results() (list []generator.Result, called bool) { return s.results.all() }

// isSettled reports whether the scope of every object was known when it was normalised.
func (s Set) isSettled() bool {
	for _, o := range s.Objects {
		if o.Scope == manifests.ScopeUnknown {
			return false
		}
	}
	return true
}

// results collects the results that a generator reports.
type results struct {
	mu   sync.Mutex
	list []generator.Result
}

func (r *results) add(result generator.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, result)
}

func (r *results) all() (list []generator.Result, called bool) {
	if r == nil {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(list, r.list...), true
}
