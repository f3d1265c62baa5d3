package applier

import (
	"maps"
	"sync"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// memory is the state that an applier keeps for owners between passes. The memory is lost with the process, and the
// next passes build it up again. The size of the memory is bounded by the number of dependents.
type memory struct {
	mu     sync.Mutex
	owners map[string]remembered
}

// remembered is the memory of an owner.
type remembered struct {
	// guard is the admission policy that protects definitions under deletion; nil if no guard was set up.
	guard *plan.Guard
	// repairs are the repairs that other clients reverted, by dependent. The repairs are ignored if nonce is not the
	// current repair nonce of the component.
	nonce   string
	repairs map[manifests.Key]plan.Repairs
}

// guardOf returns the guard of an owner. A guard that could not be set up is set up again in every pass.
func (m *memory) guardOf(ownerID, reconciler string) plan.Guard {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.owners[ownerID].guard; g != nil && !g.Unavailable {
		return *g
	}
	return plan.Guard{Name: guardName(reconciler, ownerID)}
}

// guardName returns the name of the guard of an owner.
func guardName(reconciler, ownerID string) string { return "guard-" + ownerID + "." + reconciler }

// repairsOf returns the repairs of an owner, or nil if the repair nonce has changed.
func (m *memory) repairsOf(ownerID, nonce string) map[manifests.Key]plan.Repairs {
	m.mu.Lock()
	defer m.mu.Unlock()
	if own := m.owners[ownerID]; own.nonce == nonce {
		return maps.Clone(own.repairs)
	}
	return nil
}

// keepGuard replaces the guard of an owner.
func (m *memory) keepGuard(ownerID string, g plan.Guard) {
	m.change(ownerID, func(own *remembered) { own.guard = &g })
}

// keepRepairs replaces the repairs of an owner.
func (m *memory) keepRepairs(ownerID, nonce string, repairs map[manifests.Key]plan.Repairs) {
	m.change(ownerID, func(own *remembered) {
		own.nonce, own.repairs = "", nil
		if len(repairs) > 0 {
			own.nonce, own.repairs = nonce, maps.Clone(repairs)
		}
	})
}

func (m *memory) change(ownerID string, by func(*remembered)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	own := m.owners[ownerID]
	by(&own)
	if own.guard == nil && own.repairs == nil {
		delete(m.owners, ownerID)
		return
	}
	if m.owners == nil {
		m.owners = map[string]remembered{}
	}
	m.owners[ownerID] = own
}

func (m *memory) forget(ownerID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.owners, ownerID)
}
