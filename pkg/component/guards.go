package component

import (
	"sync"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// guardBook knows the guards of all owners that have one. It is lost with the process, and then learned again.
type guardBook struct {
	mu     sync.Mutex
	guards map[string]plan.Guard
}

// guardName names the guard of an owner.
func guardName(reconciler, ownerID string) string { return "guard-" + ownerID + "." + reconciler }

// known returns what is known of an owner's guard. That one could not be set up is tried again in every pass.
func (b *guardBook) known(ownerID, name string) plan.Guard {
	b.mu.Lock()
	defer b.mu.Unlock()
	if g, ok := b.guards[ownerID]; ok && !g.Unavailable {
		return g
	}
	return plan.Guard{Name: name}
}

// learn enters what came of an action, and returns what is known then.
func (b *guardBook) learn(f plan.Facts, a plan.Action, r plan.Result) plan.Guard {
	if !a.Verb.Guards() {
		return f.Guard
	}
	g := f.Guard.After(a, r, f.Now)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.guards == nil {
		b.guards = map[string]plan.Guard{}
	}
	b.guards[f.Owner] = g
	return g
}

func (b *guardBook) forget(ownerID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.guards, ownerID)
}
