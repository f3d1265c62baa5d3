package externals

import (
	"sync"
	"testing"

	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// limited is a driver of which nothing but the limits is used.
type limited struct{ external.Driver }

func (limited) Info() external.Info {
	return external.Info{Kind: "Thing", Concurrency: 1, Rate: 1, Burst: 1}
}

// Items of several components begin and end to use the same account concurrently.
func TestAnAccountWithAUserIsNeverReplaced(t *testing.T) {
	m := &Manager{process: process{clock: clock.RealClock{}, lifetime: t.Context()}}
	m.accounts = newAccounts(&m.process)
	key := accountKey{driver: limited{}}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			it := &item{component: &component{manager: m}}
			for range 100_000 {
				it.use(key)
				m.accounts.mu.Lock()
				current := m.accounts.byKey[key]
				m.accounts.mu.Unlock()
				if current != it.account {
					t.Error("the account of an item was dropped")
					return
				}
				it.use(accountKey{})
			}
		})
	}
	all.Wait()
	if accounts, budgets := len(m.accounts.byKey), len(m.accounts.budgets); accounts+budgets > 0 {
		t.Errorf("%d accounts and %d budgets without users", accounts, budgets)
	}
}
