package externals

import (
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
)

// Status is the state of an external in the metrics.
type Status string

// The states.
const (
	// StatusReady: it exists and is ready.
	StatusReady Status = "ready"
	// StatusNotReady: it exists and is not ready, or a call is under way, or it has not answered yet.
	StatusNotReady Status = "not-ready"
	// StatusFailed: the last call failed, or cannot be made.
	StatusFailed Status = "failed"
	// StatusUncertain: only a person can say whether it exists.
	StatusUncertain Status = "uncertain"
	// StatusAbsent: it does not exist.
	StatusAbsent Status = "absent"
)

// Statuses are all states.
func Statuses() []Status {
	return []Status{StatusReady, StatusNotReady, StatusFailed, StatusUncertain, StatusAbsent}
}

// statusOf returns the state for the metrics.
func (it *item) statusOf(o plan.Observed) Status {
	switch {
	case o.Failure != nil && (o.Failure.Reason == plan.WaitCreateUncertain || o.Failure.Reason == plan.WaitStateDamaged):
		return StatusUncertain
	case o.Failure != nil:
		return StatusFailed
	case o.Presence == plan.Absent:
		return StatusAbsent
	case o.Presence == plan.Present && o.Readiness.State == ready.Ready:
		return StatusReady
	}
	return StatusNotReady
}

// Count returns the numbers of externals, by kind and state. Externals that are deleted or released are not counted.
func (m *Manager) Count() map[string]map[Status]int {
	m.mu.Lock()
	owners := make([]*owner, 0, len(m.owners))
	for _, o := range m.owners {
		owners = append(owners, o)
	}
	m.mu.Unlock()
	counts := map[string]map[Status]int{}
	for _, o := range owners {
		o.count(counts)
	}
	return counts
}

func (o *owner) count(counts map[string]map[Status]int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, it := range o.items {
		if it.isDone() || it.status == "" {
			continue
		}
		if counts[key.Kind] == nil {
			counts[key.Kind] = map[Status]int{}
		}
		counts[key.Kind][it.status]++
	}
}
