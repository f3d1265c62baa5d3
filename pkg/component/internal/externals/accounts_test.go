package externals

import (
	"sync"
	"testing"

	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/manifests"
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

// An item is dropped while an observation is under way, or an alarm is set.
func TestALateAnswerOfADroppedExternalTakesNoAccount(t *testing.T) {
	m := &Manager{process: process{clock: clock.RealClock{}, lifetime: t.Context()}}
	m.accounts, m.polls = newAccounts(&m.process), newPolls(&m.process, func(*item) {})
	c := &component{manager: m, items: map[manifests.Key]*item{}, results: map[*item]callResult{}}
	it, key := &item{component: c}, manifests.Key{Group: manifests.ExternalGroup, Kind: "Thing", Name: "a"}
	c.items[key] = it
	it.situation.wanted.account = accountKey{driver: limited{}}
	it.use(it.situation.wanted.account)
	c.changeAll(nil, func(*step) {})
	if len(c.items) > 0 {
		t.Fatal("the item must be dropped, because it is neither desired nor recorded")
	}
	c.make(it, func(*step) {})
	if accounts, budgets := len(m.accounts.byKey), len(m.accounts.budgets); accounts+budgets > 0 ||
		m.polls.isScheduled(it) {
		t.Errorf("%d accounts and %d budgets of a dropped item; polled: %t", accounts, budgets, m.polls.isScheduled(it))
	}
}
