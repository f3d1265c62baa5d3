package externals

import (
	"context"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// accountKey identifies an account: a handler, the name that it gave the account, and the contents of the references.
type accountKey struct {
	driver           external.Driver
	name, references string
}

// budgetKey identifies a budget: the name of an account and the contents of the references. Handlers that give no name
// have a budget each.
type budgetKey struct {
	driver           external.Driver
	name, references string
}

// budget has the limits of the accounts with the same name and credentials, whose handlers may differ. The strictest
// limits hold. The lock of the Manager guards it.
type budget struct {
	limiter     *rate.Limiter
	concurrency int
	active      int
	accounts    []*account
}

// join adds an account to a budget.
func (b *budget) join(a *account, now time.Time) {
	b.accounts = append(b.accounts, a)
	b.setLimits(now)
}

// leave removes an account from a budget, whose limits may become less strict.
func (b *budget) leave(a *account, now time.Time) {
	b.accounts = slices.DeleteFunc(b.accounts, func(o *account) bool { return o == a })
	if len(b.accounts) == 0 {
		return
	}
	b.setLimits(now)
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

// account makes the calls of a handler to an external system with the same credentials, within their budget. Calls that
// write go before polls.
type account struct {
	manager *Manager
	key     accountKey
	info    external.Info
	budget  *budget
	// The lock of the Manager guards the fields below.
	writes, reads []*call
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

// call is a call that waits or is under way.
type call struct {
	method Method
	// run makes the call. It must not hold a lock.
	run func(ctx context.Context)
	// window is the time in which the call may begin. If it does not, refuse is called instead of run.
	window window
	refuse func()
	// began is the time at which the call began; zero while it waits.
	began time.Time
}

// use returns the account with the given key, and counts a user of it. The caller calls release. Both are one step, so
// an account with a user is never dropped: a second account with the same key would double the limits.
func (m *Manager) use(key accountKey) *account {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.accounts[key] == nil {
		shared := key.budget()
		if m.budgets[shared] == nil {
			m.budgets[shared] = &budget{}
		}
		a := &account{manager: m, key: key, info: key.driver.Info(), budget: m.budgets[shared]}
		a.budget.join(a, m.now())
		m.accounts[key] = a
	}
	m.accounts[key].users++
	return m.accounts[key]
}

// budget returns the key of the budget of an account.
func (k accountKey) budget() budgetKey {
	if k.name == "" {
		return budgetKey(k)
	}
	return budgetKey{name: k.name, references: k.references}
}

// release ends a use of the account. An account without users is dropped.
func (a *account) release() {
	a.manager.mu.Lock()
	defer a.manager.mu.Unlock()
	if a.users--; a.users <= 0 && a.manager.accounts[a.key] == a {
		delete(a.manager.accounts, a.key)
		if a.budget.leave(a, a.manager.now()); len(a.budget.accounts) == 0 {
			delete(a.manager.budgets, a.key.budget())
		}
	}
}

// enqueue makes a call as soon as the limits of the account permit it.
func (a *account) enqueue(c *call) {
	a.manager.mu.Lock()
	defer a.manager.mu.Unlock()
	if c.method == MethodObserve || c.method == MethodList {
		a.reads = append(a.reads, c)
	} else {
		a.writes = append(a.writes, c)
	}
	a.dispatch()
}

// dispatch begins the calls that the limits permit. The caller holds the lock of the Manager.
func (a *account) dispatch() {
	for a.budget.active < a.budget.concurrency && len(a.writes)+len(a.reads) > 0 && a.manager.lifetime.Err() == nil {
		now := a.manager.now()
		if a.refuseLate(now) {
			continue
		}
		reservation := a.budget.limiter.ReserveN(now, 1)
		if delay := reservation.DelayFrom(now); delay > 0 {
			reservation.CancelAt(now)
			a.dispatchAfter(delay)
			return
		}
		var next *call
		if len(a.writes) > 0 {
			next, a.writes = a.writes[0], a.writes[1:]
		} else {
			next, a.reads = a.reads[0], a.reads[1:]
		}
		next.began = now
		a.budget.active++
		a.manager.calls.Go(func() { a.make(next) })
	}
}

// refuseLate drops the first call that writes if it must not begin any more. The next pass decides anew, and the call
// does not count against the limits. The caller holds the lock of the Manager.
func (a *account) refuseLate(now time.Time) (refused bool) {
	if len(a.writes) == 0 || !a.writes[0].window.isOver(now) {
		return false
	}
	a.manager.calls.Go(a.writes[0].refuse)
	a.writes = a.writes[1:]
	return true
}

// dispatchAfter calls dispatch again after a delay. The caller holds the lock of the Manager.
func (a *account) dispatchAfter(delay time.Duration) {
	if a.timed {
		return
	}
	a.timed = true
	timer := a.manager.options.Clock.NewTimer(delay)
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C():
		case <-a.manager.lifetime.Done():
			return
		}
		a.manager.mu.Lock()
		defer a.manager.mu.Unlock()
		a.timed = false
		a.dispatch()
	}()
}

// lateness is the time, beyond its time-out, after which a call that does not return gives its place in the account to
// others. The external of the call waits for its end nevertheless.
const lateness = 10 * time.Second

// shutdownGrace is the time for which calls go on after the operator is told to stop. A manager waits 30 seconds.
const shutdownGrace = 10 * time.Second

// make makes a call. A call that began is completed although the operator stops, within its time-out, because a result
// that is not recorded would be uncertain.
func (a *account) make(c *call) {
	outliving, end := a.manager.outliving(shutdownGrace)
	defer end()
	ctx, cancel := context.WithTimeout(outliving, a.info.Timeout)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if c.window.isOver(a.manager.now()) {
			c.refuse()
			return
		}
		c.run(ctx)
	}()
	late := a.manager.options.Clock.NewTimer(a.info.Timeout + lateness)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C():
	}
	a.manager.mu.Lock()
	defer a.manager.mu.Unlock()
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
