package externals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// observe begins a call that shows whether the external exists, and in which state.
func (it *item) observe() {
	o := it.owner
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped || it.observing || it.writing != nil || it.saving || !it.canAsk() {
		return
	}
	if it.firstAsked.IsZero() {
		it.firstAsked = o.manager.now()
	}
	a := it.account
	if it.isListed() && a.mayList() {
		it.observing = true
		if a.awaitList(it) {
			a.enqueue(&call{method: MethodList, run: a.list})
		}
		return
	}
	q := it.question()
	if it.mustFind() {
		a.enqueue(&call{method: MethodFind, run: func(ctx context.Context) { it.find(ctx, q) }})
		return
	}
	a.enqueue(&call{method: MethodObserve, run: func(ctx context.Context) { it.ask(ctx, q) }})
}

// question is an observation that began.
type question struct {
	driver  external.Driver
	account *account
	request external.Request
	// writes is the number of the calls that had begun to write. The answer is old if there were more since.
	writes int
	// at is the time of the question.
	at time.Time
}

// question begins an observation. The caller holds the lock.
func (it *item) question() question {
	it.observing = true
	manifest := map[string]any(nil)
	if it.isUncertain() {
		manifest = it.applied() // The external was created with the recorded manifest, if at all.
	}
	return question{it.driver, it.account, it.request(manifest), it.writes, it.owner.manager.now()}
}

// isListed reports whether a list may show the external. The caller holds the lock.
func (it *item) isListed() bool {
	return it.info().Lists && it.id() != "" && !it.isUncertain() && !it.isLost()
}

// ask makes the call Observe.
func (it *item) ask(ctx context.Context, q question) {
	ctx, ended := it.monitor(ctx, MethodObserve)
	answer, err := guard(func() (external.Answer, error) { return q.driver.Observe(ctx, q.request) })
	ended(err)
	it.owner.mu.Lock()
	defer it.owner.mu.Unlock()
	it.learn(q, answer, err)
}

// find makes the call Find.
func (it *item) find(ctx context.Context, q question) {
	type found struct {
		id string
		ok bool
	}
	ctx, ended := it.monitor(ctx, MethodFind)
	answer, err := guard(func() (found, error) {
		id, ok, err := q.driver.Find(ctx, q.request)
		return found{id, ok}, err
	})
	ended(err)
	it.owner.mu.Lock()
	defer it.owner.mu.Unlock()
	if err == nil && !answer.ok {
		err = external.ErrNotFound
	}
	if err != nil || answer.id == "" {
		it.learn(q, external.Answer{}, err)
		return
	}
	first := !it.asked
	it.observing, it.asked = false, true
	if q.account == it.account && q.request.Token == it.token() && it.mustFind() && it.writing == nil && !it.saving {
		it.identified(answer.id)
		return
	}
	it.missing = absence{}
	it.pollAt(it.owner.manager.now().Add(time.Second))
	if first {
		it.owner.wake()
	}
}

// awaitList adds an item to those that the next list of the account observes. It reports whether the list must be
// enqueued.
func (a *account) awaitList(it *item) (first bool) {
	a.manager.mu.Lock()
	defer a.manager.mu.Unlock()
	a.awaiting = append(a.awaiting, it)
	return len(a.awaiting) == 1
}

// maxListFailures is the number of lists in a row that may fail before externals are observed one by one. A list that
// fails may never succeed, for example one of many pages that exceeds a rate limit, and the externals must be observed.
// If the external system is down, this costs one call for each external and interval, within the limits of the account.
const maxListFailures = 3

// mayList reports whether a list may be called. After failures, lists are tried again at the interval of polls.
func (a *account) mayList() bool {
	a.manager.mu.Lock()
	defer a.manager.mu.Unlock()
	return a.listFailures < maxListFailures || !a.manager.now().Before(a.listAgain)
}

// listEnded notes the result of a list.
func (a *account) listEnded(err error) {
	a.manager.mu.Lock()
	defer a.manager.mu.Unlock()
	if err == nil {
		a.listFailures = 0
		return
	}
	_, after := failureOf(MethodList, err)
	a.listFailures++
	// The externals of the failed list are observed when this time is over, so the next list is made later than that.
	a.listAgain = a.manager.now().Add(max(a.info.Poll, 2*after))
}

// list observes the externals of an account that wait for a list, or whose observation is due soon, with one call.
// Those that are missing in the list are observed one by one.
func (a *account) list(ctx context.Context) {
	m := a.manager
	m.mu.Lock()
	awaiting := a.awaiting
	a.awaiting = nil
	m.mu.Unlock()
	var items []*item
	var questions []question
	ask := func(it *item, awaited bool, due time.Time) {
		if asked, ok := it.listed(a, awaited, due); ok {
			items, questions = append(items, it), append(questions, asked)
		}
	}
	for _, it := range awaiting {
		ask(it, true, m.now())
	}
	for _, taken := range m.polls.take(a, m.now().Add(a.info.Poll/2)) {
		ask(taken.item, false, taken.due)
	}
	if len(items) == 0 {
		return
	}
	requests := make([]external.Request, len(items))
	for i, asked := range questions {
		requests[i] = asked.request
	}
	ctx, ended := items[0].monitor(ctx, MethodList)
	shared := external.Account{Name: a.key.name, References: requests[0].References}
	answers, err := guard(func() (map[int]external.Answer, error) { return a.key.driver.List(ctx, shared, requests) })
	ended(err)
	a.listEnded(err)
	for i, other := range items {
		answer, found := answers[i]
		other.owner.mu.Lock()
		switch asked := questions[i]; {
		case err != nil || found:
			other.learn(asked, answer, err)
		default:
			a.enqueue(&call{method: MethodObserve, run: func(ctx context.Context) { other.ask(ctx, asked) }})
		}
		other.owner.mu.Unlock()
	}
}

// listed begins an observation by a list of an account. awaited is set for an item that waited for the list. An item
// that this list may not show is observed when its observation is due.
func (it *item) listed(a *account, awaited bool, due time.Time) (q question, ok bool) {
	it.owner.mu.Lock()
	defer it.owner.mu.Unlock()
	if awaited {
		it.observing = false
	}
	switch {
	case it.observing: // The answer under way schedules the next observation.
		return question{}, false
	case it.account != a || it.writing != nil || it.saving || !it.canAsk() || !it.isListed():
		it.pollAt(due)
		return question{}, false
	}
	return it.question(), true
}

// learn enters the answer of an observation. The caller holds the lock.
func (it *item) learn(q question, answer external.Answer, err error) {
	first := !it.asked
	it.observing, it.asked = false, true
	now := it.owner.manager.now()
	switch {
	case it.driver == nil: // The handler was removed in the meantime.
		return
	case it.isOutOfDate(q):
		// The answer still ends a series of answers that the external does not exist.
		if err == nil {
			it.missing = absence{}
		}
		it.pollAt(now.Add(time.Second))
		if first {
			it.owner.wake()
		}
		return
	case err == nil:
		it.unverified = false
		it.seen(answer, now)
	case errors.Is(err, external.ErrNotFound):
		it.notFound(now)
	default:
		it.notObserved(err, now)
	}
	if q.at.Before(it.owner.demand.at) {
		it.pollAt(now)
	}
	if it.changed(); first {
		it.owner.wake()
	}
}

// isOutOfDate reports whether the answer to a question may be old, because a call that writes began in the meantime, or
// whether it is about another external.
func (it *item) isOutOfDate(q question) bool {
	return it.writing != nil || it.saving || q.writes != it.writes || q.account != it.account ||
		q.request.Token != it.token() || q.request.ID != it.id()
}

// seen enters the answer about an external that exists.
func (it *item) seen(answer external.Answer, now time.Time) {
	it.unobserved, it.missing = nil, absence{}
	it.answer, it.answeredAt = &answer, now
	foreign := answer.Token != "" && answer.Token != it.token()
	if (it.isUncertain() || it.isLost()) && it.token() != "" {
		if foreign {
			// Another owner has an external with this id, so ours was not created.
			it.missing = absence{confirmed: true}
			it.notCreated()
			return
		}
		it.identified(it.id())
		return
	}
	if it.isClaimed() {
		if foreign {
			it.unclaimed("has the token " + answer.Token + " of another owner")
			return
		}
		it.identified(it.id())
		return
	}
	after := answer.PollAfter
	if after <= 0 {
		after = it.info().Poll
	}
	if it.isDeleting() {
		after = min(after, deletionPoll)
		if it.deleteSent && now.Sub(it.written) > max(deleteAgain, 2*it.info().Settle) {
			it.deleteSent = false
			it.owner.wake()
		}
	}
	it.pollAt(now.Add(spread(after)))
}

const (
	// deletionPoll is the time between two observations of an external that is being deleted.
	deletionPoll = 2 * time.Second
	// deleteAgain is the time after which Delete is called again if the external still exists.
	deleteAgain = 30 * time.Second
)

func (it *item) isDeleting() bool {
	return it.state != nil && it.state.Intent == externalstate.IntentDelete && !it.state.Gone
}

// notFound enters the answer that there is no such external.
func (it *item) notFound(now time.Time) {
	it.unobserved = nil
	settle := it.info().Settle
	written := it.state != nil || it.entry.External
	switch {
	case it.missing.confirmed:
	case now.Before(it.provesAfter()):
		it.pollAt(it.provesAfter())
		return
	case !written, settle <= 0:
		it.missing.confirmed = true
	case it.missing.first.IsZero():
		it.missing.first = now
		it.pollAt(now.Add(settle))
		return
	case now.Before(it.missing.first.Add(settle)):
		it.pollAt(it.missing.first.Add(settle))
		return
	default:
		it.missing.confirmed = true
	}
	it.answer = nil
	switch {
	case it.isClaimed():
		it.unclaimed("does not exist")
		return
	case it.isDeleting():
		it.gone()
	case it.isUncertain():
		it.notCreated()
	}
	it.pollAt(now.Add(spread(it.info().Poll)))
}

// notObserved enters the failure of an observation.
func (it *item) notObserved(err error, now time.Time) {
	f, after := failureOf(MethodObserve, err)
	var until time.Time
	if after > 0 && f.Class == plan.Transient {
		until = now.Add(after)
	}
	f.Class = plan.Transient
	attempts := 1
	if it.unobserved != nil {
		attempts = it.unobserved.attempts + 1
	}
	it.unobserved = &failed{failure: f, attempts: attempts, until: until}
	if after <= 0 {
		after = min(backoff(attempts), it.info().Poll)
	}
	it.pollAt(now.Add(spread(after)))
}

// pollAt sets the time of the next observation.
func (it *item) pollAt(at time.Time) {
	if it.account != nil && !it.owner.stopped {
		it.owner.manager.polls.schedule(it, it.account, at, true)
	}
}

// guard calls a function of an author, and converts a panic to an error.
func guard[R any](f func() (R, error)) (r R, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the handler panicked: %v", p)
		}
	}()
	return f()
}

// monitor tells the Monitor that a call begins. The returned function must be called with the error of the call.
func (it *item) monitor(ctx context.Context, method Method) (context.Context, func(error)) {
	monitor := it.owner.manager.options.Monitor
	if monitor == nil {
		return ctx, func(error) {}
	}
	c := Call{Component: it.owner.name, Kind: it.key.Kind, Name: it.key.Name, Method: method}
	if method == MethodList {
		c.Name = ""
	}
	return monitor.StartCall(ctx, c)
}
