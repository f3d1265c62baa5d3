package externals

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// accountKey identifies an account: a handler, the name that it gave the account, and the contents of the references.
type accountKey struct {
	driver           external.Driver
	name, references string
}

// budget identifies the budget of an account: the accounts with the same name and contents of the references share it.
// Handlers that give no name have a budget each.
func (k accountKey) budget() accountKey {
	if k.name != "" {
		k.driver = nil
	}
	return k
}

// accounts are the accounts of all externals. Its lock protects the accounts and their budgets.
type accounts struct {
	process *process

	mu      sync.Mutex
	byKey   map[accountKey]*account
	budgets map[accountKey]*budget
}

func newAccounts(p *process) *accounts {
	return &accounts{process: p, byKey: map[accountKey]*account{}, budgets: map[accountKey]*budget{}}
}

// budget contains the limits of the accounts with the same name and credentials, whose handlers may differ. The
// strictest limits hold.
type budget struct {
	limiter     *rate.Limiter
	concurrency int
	active      int
	accounts    []*account
}

// account makes the calls of a handler to an external system with the same credentials, within their budget. Calls that
// write go before polls.
type account struct {
	all  *accounts
	key  accountKey
	info external.Info
	// The lock of the accounts protects the fields below.
	budget        *budget
	writes, reads []*queued
	// awaiting are the items that the next list observes.
	awaiting []*item
	// listFailures counts the lists in a row that failed. After several of them, the next one is made at listAgain.
	listFailures int
	listAgain    time.Time
	// timed is set while a timer waits for the rate limit.
	timed bool
	// users is the number of items that have the account.
	users int
}

// queued is a call that waits for the limits of its account.
type queued struct {
	// run makes the call. It must not hold a lock.
	run func(ctx context.Context)
	// urgent is set if the call goes before polls: it writes, or an external waits for it.
	urgent bool
	// window is the time in which the call may begin. If it does not, refuse is called instead of run.
	window window
	refuse func()
}

// use returns the account with the given key, and counts a user of it. The caller calls release. Both are one step, so
// an account with a user is never dropped: a second account with the same key would double the limits.
func (all *accounts) use(key accountKey) *account {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.byKey[key] == nil {
		shared := key.budget()
		if all.budgets[shared] == nil {
			all.budgets[shared] = &budget{}
		}
		a := &account{all: all, key: key, info: key.driver.Info(), budget: all.budgets[shared]}
		a.budget.accounts = append(a.budget.accounts, a)
		a.budget.setLimits(all.process.now())
		all.byKey[key] = a
	}
	all.byKey[key].users++
	return all.byKey[key]
}

// release ends a use of the account. An account without users is dropped, and the limits of its budget may become less
// strict.
func (a *account) release() {
	a.all.mu.Lock()
	defer a.all.mu.Unlock()
	if a.users--; a.users > 0 || a.all.byKey[a.key] != a {
		return
	}
	delete(a.all.byKey, a.key)
	b := a.budget
	if b.accounts = slices.DeleteFunc(b.accounts, func(o *account) bool { return o == a }); len(b.accounts) == 0 {
		delete(a.all.budgets, a.key.budget())
		return
	}
	b.setLimits(a.all.process.now())
	for _, other := range b.accounts {
		other.dispatch()
	}
}

// setLimits sets the strictest limits of the accounts, of which there is at least one.
func (b *budget) setLimits(now time.Time) {
	first := b.accounts[0].info
	limit, burst, concurrency := first.Rate, first.Burst, first.Concurrency
	for _, a := range b.accounts[1:] {
		limit, burst = min(limit, a.info.Rate), min(burst, a.info.Burst)
		concurrency = min(concurrency, a.info.Concurrency)
	}
	b.concurrency = concurrency
	if b.limiter == nil {
		b.limiter = rate.NewLimiter(rate.Limit(limit), max(1, burst))
		return
	}
	b.limiter.SetLimitAt(now, rate.Limit(limit))
	b.limiter.SetBurstAt(now, max(1, burst))
}

// enqueue makes a call as soon as the limits of the account permit it.
func (a *account) enqueue(c *queued) {
	a.all.mu.Lock()
	defer a.all.mu.Unlock()
	if c.urgent {
		a.writes = append(a.writes, c)
	} else {
		a.reads = append(a.reads, c)
	}
	a.dispatch()
}

// dispatch begins the calls that the limits permit. The caller holds the lock.
func (a *account) dispatch() {
	p := a.all.process
	for a.budget.active < a.budget.concurrency && len(a.writes)+len(a.reads) > 0 && p.lifetime.Err() == nil {
		now := p.now()
		if len(a.writes) > 0 && a.writes[0].window.isOver(now) {
			// The next pass decides again. The call does not count against the limits.
			p.calls.Go(a.writes[0].refuse)
			a.writes = a.writes[1:]
			continue
		}
		reservation := a.budget.limiter.ReserveN(now, 1)
		if delay := reservation.DelayFrom(now); delay > 0 {
			reservation.CancelAt(now)
			a.dispatchAfter(delay)
			return
		}
		var next *queued
		if len(a.writes) > 0 {
			next, a.writes = a.writes[0], a.writes[1:]
		} else {
			next, a.reads = a.reads[0], a.reads[1:]
		}
		a.budget.active++
		p.calls.Go(func() { a.make(next) })
	}
}

// dispatchAfter calls dispatch again after a delay. The caller holds the lock.
func (a *account) dispatchAfter(delay time.Duration) {
	if a.timed {
		return
	}
	a.timed = true
	a.all.process.after(delay, func() {
		a.all.mu.Lock()
		defer a.all.mu.Unlock()
		a.timed = false
		a.dispatch()
	})
}

const (
	// lateness is the time, beyond its time-out, after which a call that does not return gives its place in the account
	// to others. The external of the call waits for its end nevertheless.
	lateness = 10 * time.Second
	// shutdownGrace is the time for which calls go on after the operator is told to stop. A manager waits 30 seconds.
	shutdownGrace = 10 * time.Second
)

// make makes a call. A call that began is completed although the operator stops, within its time-out, because a result
// that is not stored would be uncertain.
func (a *account) make(c *queued) {
	p := a.all.process
	outliving, end := p.outliving(shutdownGrace)
	defer end()
	ctx, cancel := context.WithTimeout(outliving, a.info.Timeout)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if c.window.isOver(p.now()) {
			c.refuse()
			return
		}
		c.run(ctx)
	}()
	late := p.clock.NewTimer(a.info.Timeout + lateness)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C():
	}
	a.all.mu.Lock()
	defer a.all.mu.Unlock()
	a.budget.active--
	waiting := a.budget.accounts
	if len(waiting) > 1 {
		// The accounts take turns, so that each of them gets calls.
		waiting = slices.Concat(waiting[1:], waiting[:1])
		a.budget.accounts = waiting
	}
	for _, other := range waiting {
		other.dispatch()
	}
	a.dispatch() // The account may not be in the budget any more.
}

// await adds an item to those that the next list of the account observes, if a list may be called. It reports whether
// the list must be enqueued. After failures, lists are tried again at the interval of polls.
func (a *account) await(it *item) (first, listed bool) {
	a.all.mu.Lock()
	defer a.all.mu.Unlock()
	if a.listFailures >= maxListFailures && a.all.process.now().Before(a.listAgain) {
		return false, false
	}
	a.awaiting = append(a.awaiting, it)
	return len(a.awaiting) == 1, true
}

// takeAwaiting removes and returns the items that wait for a list.
func (a *account) takeAwaiting() []*item {
	a.all.mu.Lock()
	defer a.all.mu.Unlock()
	awaiting := a.awaiting
	a.awaiting = nil
	return awaiting
}

// maxListFailures is the number of lists in a row that may fail before externals are observed one by one. A list that
// fails may never succeed, for example one of many pages that exceeds a rate limit, and the externals must be observed.
// If the external system is down, this costs one call for each external and interval, within the limits of the account.
const maxListFailures = 3

func (a *account) listEnded(err error) {
	a.all.mu.Lock()
	defer a.all.mu.Unlock()
	if err == nil {
		a.listFailures = 0
		return
	}
	_, after := failureOf(MethodList, err)
	a.listFailures++
	// The externals of the failed list are observed when this time is over, so the next list is made later than that.
	a.listAgain = a.all.process.now().Add(max(a.info.Poll, 2*after))
}
