package applier

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// state is what an applier keeps for owners between passes. It is lost with the process, and the
// next passes build it up again. Its size is bounded by the number of dependents.
type state struct {
	mu     sync.Mutex
	owners map[string]ownerState
	// left are the guards of forgotten owners, if changed is set.
	left []unusedGuard
	// changed, if set, is called without the lock after a guard was set up, or was left by a forgotten owner.
	changed func()
}

// unusedGuard is a guard that no pass uses. The client is connected to its cluster.
type unusedGuard struct {
	ownerID string
	name    string
	client  *target.Client
	// attempts is the number of attempts to remove the guard.
	attempts int
}

// ownerState is the state of an owner.
type ownerState struct {
	// guard is the admission policy that protects definitions under deletion; nil if no guard was set up. client is
	// connected to its cluster.
	guard  *plan.Guard
	client *target.Client
	// passes is the number of passes under way.
	passes int
	// repairs are the repairs that other clients reverted, by dependent. The repairs are ignored if nonce is not the
	// current repair nonce of the component.
	nonce   string
	repairs map[manifests.Key]plan.Repairs
	// read are the facts about the observed objects; nil if the owner observes no objects.
	read *readObjects
	// names are the answers of access reviews about objects of other owners; see plan.Names.
	names map[manifests.Key]bool
	// reviewer is who asked for the reviews.
	reviewer reviewer
	// accepted are the changes of a set that is not applied yet.
	accepted acceptedChanges
}

// hasGuard reports whether a guard was set up.
func (r ownerState) hasGuard() bool { return r.guard != nil && !r.guard.SetUp.IsZero() }

// guardOf returns the guard of an owner. A guard that could not be set up is set up again in every pass.
func (m *state) guardOf(owner manifests.Owner) plan.Guard {
	ownerID := owner.ID()
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.owners[ownerID].guard; g != nil && !g.Unavailable {
		return *g
	}
	return plan.Guard{Name: plan.GuardName(owner.Reconciler, ownerID), Owner: owner.String()}
}

// hasGuard reports whether passes of this process use the guard of an owner.
func (m *state) hasGuard(ownerID string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owners[ownerID].hasGuard()
}

// repairsOf returns the repairs of an owner, or nil if the repair nonce has changed.
func (m *state) repairsOf(ownerID, nonce string) map[manifests.Key]plan.Repairs {
	m.mu.Lock()
	defer m.mu.Unlock()
	if own := m.owners[ownerID]; own.nonce == nonce {
		return maps.Clone(own.repairs)
	}
	return nil
}

// keepGuard replaces the guard of an owner.
func (m *state) keepGuard(ownerID string, g plan.Guard, client *target.Client) {
	m.change(ownerID, func(own *ownerState) {
		own.guard, own.client = &g, client
		if g.SetUp.IsZero() && !g.Unavailable {
			own.guard, own.client = nil, nil
		}
	})
	m.notify()
}

// begin notes that a pass begins. The caller must call end after the pass.
func (m *state) begin(ownerID string) {
	m.change(ownerID, func(own *ownerState) { own.passes++ })
}

func (m *state) end(ownerID string) {
	m.change(ownerID, func(own *ownerState) { own.passes-- })
}

// takeUnused removes and returns the guards of forgotten owners, and the guards that were last used before a time and
// whose owner has no pass under way. The next pass over such an owner sets up its guard again. next is the time at
// which the next guard was last used, zero if no guard is left.
func (m *state) takeUnused(before time.Time) (unused []unusedGuard, next time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	unused, m.left = m.left, nil
	for ownerID, own := range m.owners {
		if !own.hasGuard() {
			continue
		}
		used := own.guard.LastUsed()
		if own.passes == 0 && !used.After(before) {
			unused = append(unused, unusedGuard{ownerID: ownerID, name: own.guard.Name, client: own.client})
			own.guard, own.client = nil, nil
			m.put(ownerID, own)
			continue
		}
		if next.IsZero() || used.Before(next) {
			next = used
		}
	}
	slices.SortFunc(unused, func(a, b unusedGuard) int { return strings.Compare(a.name, b.name) })
	return unused, next
}

// setChanged sets the function that is called after a guard was set up, or was left by a forgotten owner.
func (m *state) setChanged(changed func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed = changed
}

func (m *state) notify() {
	m.mu.Lock()
	changed := m.changed
	m.mu.Unlock()
	if changed != nil {
		changed()
	}
}

// keepRepairs replaces the repairs of an owner.
func (m *state) keepRepairs(ownerID, nonce string, repairs map[manifests.Key]plan.Repairs) {
	m.change(ownerID, func(own *ownerState) {
		own.nonce, own.repairs = "", nil
		if len(repairs) > 0 {
			own.nonce, own.repairs = nonce, maps.Clone(repairs)
		}
	})
}

// reviewer identifies access reviews of an owner: by its identity, and by the latest request for a pass, which lets the
// identity ask again.
type reviewer struct{ user, requested string }

// namesOf returns the answers of access reviews for an owner and a reviewer; nil if there are none.
func (m *state) namesOf(ownerID string, by reviewer) map[manifests.Key]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if own := m.owners[ownerID]; own.reviewer == by {
		return maps.Clone(own.names)
	}
	return nil
}

// keepNames replaces the answers of access reviews for an owner. Only the answers about the conflicts that last are
// kept.
func (m *state) keepNames(
	ownerID string, by reviewer, names map[manifests.Key]bool, conflicts []manifests.Key,
) {
	m.change(ownerID, func(own *ownerState) {
		own.names, own.reviewer = nil, by
		for _, key := range conflicts {
			if allowed, known := names[key]; known {
				if own.names == nil {
					own.names = map[manifests.Key]bool{}
				}
				own.names[key] = allowed
			}
		}
	})
}

// acceptedOf returns the accepted changes of an owner, which must not be modified.
func (m *state) acceptedOf(ownerID string) acceptedChanges {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owners[ownerID].accepted
}

// keepAccepted replaces the accepted changes of an owner.
func (m *state) keepAccepted(ownerID string, accepted acceptedChanges) {
	if len(accepted) == 0 {
		accepted = nil
	}
	m.change(ownerID, func(own *ownerState) { own.accepted = accepted })
}

func (m *state) change(ownerID string, by func(*ownerState)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	own := m.owners[ownerID]
	by(&own)
	m.put(ownerID, own)
}

// put stores the state of an owner. The caller must hold the lock.
func (m *state) put(ownerID string, own ownerState) {
	if own.guard == nil && own.repairs == nil && own.read == nil && own.names == nil && own.accepted == nil &&
		own.passes == 0 {
		delete(m.owners, ownerID)
		return
	}
	if m.owners == nil {
		m.owners = map[string]ownerState{}
	}
	m.owners[ownerID] = own
}

// forget drops the state of an owner, and marks its guard as left, if there is a GuardCollector.
func (m *state) forget(ownerID string) {
	m.mu.Lock()
	own := m.owners[ownerID]
	if own.hasGuard() && m.changed != nil {
		m.left = append(m.left, unusedGuard{ownerID: ownerID, name: own.guard.Name, client: own.client})
	}
	own.guard, own.client, own.nonce, own.repairs, own.read = nil, nil, "", nil, nil
	own.names, own.reviewer, own.accepted = nil, reviewer{}, nil
	m.put(ownerID, own)
	left := len(m.left) > 0
	m.mu.Unlock()
	if left {
		m.notify()
	}
}
