package externals

import (
	"time"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// demand is the last demand for new observations of the externals of an owner.
type demand struct {
	// at is the time of the demand. The answer to an earlier question may be older.
	at time.Time
	// request is the value of the annotation that requested a pass, as the last pass saw it. It is known if there was a
	// pass.
	request string
	known   bool
}

// Demand observes all externals of an owner at once, within the limits of their accounts, and not only when their polls
// are due. The component is woken if an answer differs from the last one. Demand makes no call itself. Before the first
// pass it does nothing, because that pass observes all externals.
func (m *Manager) Demand(of manifests.Owner) {
	m.mu.Lock()
	o := m.owners[of.ID()]
	m.mu.Unlock()
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	observeAll(o)
}

// observeAll makes the observations of an owner due, except those that their service has asked to repeat later. The
// caller holds the lock.
func observeAll(o *owner) {
	o.demand.at = o.manager.now()
	for _, it := range o.items {
		delayed := it.unobserved != nil && o.demand.at.Before(it.unobserved.until)
		if it.canAsk() && !delayed {
			it.pollAt(o.demand.at)
		}
	}
}

// noteRequest observes all externals of an owner if somebody has requested a pass since the last one. The caller holds
// the lock.
func noteRequest(o *owner, request string) {
	isNew := o.demand.known && request != "" && request != o.demand.request
	o.demand.request, o.demand.known = request, true
	if isNew {
		observeAll(o)
	}
}
