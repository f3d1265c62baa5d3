package externals

import (
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// call is a call for an external: an observation, or an action.
type call struct {
	method  Method
	driver  external.Driver
	account accountKey
	request external.Request
	// writes is the number of the calls that had begun to write before an observation, and at the time of its question.
	writes int
	at     time.Time
	// action is the action of a call that writes. The call begins in the window.
	action action
	window window
	// base is the state that was stored before a create, and manifest the manifest of an update.
	base     *externalstate.State
	manifest map[string]any
}

// question begins an observation.
func (t *step) question() *call {
	s := &t.s
	s.underway.observing = true
	manifest, method := map[string]any(nil), MethodObserve
	if s.isUncertain() {
		manifest = s.recorded.applied() // The external was created with the recorded manifest, if at all.
	}
	if s.mustFind() {
		method = MethodFind
	}
	return &call{
		method: method, driver: s.wanted.driver, account: s.wanted.account, request: s.request(manifest),
		writes: s.underway.writes, at: s.now,
	}
}

// listed returns the call into which the answer of a list is entered, after an account was listed. It sends no request.
// awaited is set for an external that waited for the list. The result is nil for an external that this list may not
// show; that external is observed when its observation is due.
func (t *step) listed(account accountKey, awaited bool, due time.Time) *call {
	s := &t.s
	if awaited {
		s.underway.observing = false
	}
	switch {
	case s.underway.observing: // The answer under way schedules the next observation.
		return nil
	case s.wanted.account != account || !s.mayObserve() || !s.isListed():
		t.pollAt(due)
		return nil
	}
	return t.question()
}

// answered enters the answer of an observation.
func (c *call) answered(t *step, answer external.Answer, err error) {
	s, first := &t.s, !t.s.observed.asked
	s.underway.observing, s.observed.asked = false, true
	if c.method == MethodFind && err == nil && answer.ID == "" {
		err = external.ErrNotFound
	}
	finds := c.method == MethodFind && err == nil
	switch {
	case s.wanted.driver == nil: // The handler was removed in the meantime.
		return
	case finds && c.isSearched(s):
		t.identified(answer.ID)
		return
	case finds, c.isOutOfDate(s):
		// The answer still ends a series of answers that the external does not exist.
		if err == nil {
			s.observed.missing = absence{}
		}
		t.pollAt(s.now.Add(time.Second))
	default:
		t.enter(answer, err)
		if c.at.Before(s.observed.demanded) {
			t.pollAt(s.now)
		}
	}
	t.wake = t.wake || first
}

// enter enters an answer that is not out of date.
func (t *step) enter(answer external.Answer, err error) {
	t.compare = true
	switch {
	case err == nil:
		t.s.observed.unverified = false
		t.seen(answer)
	case errors.Is(err, external.ErrNotFound):
		t.notFound()
	default:
		t.notObserved(err)
	}
}

// isSearched reports whether the external that was found is still searched.
func (c *call) isSearched(s *situation) bool {
	return s.mustFind() && s.isIdle() && c.account == s.wanted.account && c.request.Token == s.recorded.token()
}

// isOutOfDate reports whether the answer may be old, because a call that writes began in the meantime, or whether it is
// about another external.
func (c *call) isOutOfDate(s *situation) bool {
	return !s.isIdle() || c.writes != s.underway.writes || c.account != s.wanted.account ||
		c.request.Token != s.recorded.token() || c.request.ID != s.id()
}

// seen enters the answer about an external that exists.
func (t *step) seen(answer external.Answer) {
	s, o := &t.s, &t.s.observed
	o.failed, o.missing, o.answer, o.answeredAt = nil, absence{}, &answer, s.now
	token := s.recorded.token()
	foreign := answer.Token != "" && answer.Token != token
	searched := token != "" && (s.isUncertain() || s.recorded.isLost())
	switch {
	case searched && foreign:
		// Another owner has an external with this id, so ours was not created.
		o.missing = absence{confirmed: true}
		t.withoutEffect()
	case s.recorded.isClaimed() && foreign:
		t.unclaimed("has the token " + answer.Token + " of another owner")
	case searched, s.recorded.isClaimed():
		t.identified(s.id())
	default:
		t.pollExisting(answer.PollAfter)
	}
}

const (
	// deletionPoll is the time between two observations of an external that is being deleted.
	deletionPoll = 2 * time.Second
	// deleteAgain is the time after which Delete is called again if the external still exists.
	deleteAgain = 30 * time.Second
)

// pollExisting sets the time of the next observation of an external that exists. interval is zero if the answer
// contains none.
func (t *step) pollExisting(interval time.Duration) {
	s, info := &t.s, t.s.wanted.info()
	if interval <= 0 {
		interval = info.Poll
	}
	if s.recorded.isDeleting() {
		interval = min(interval, deletionPoll)
		if s.underway.deleteSent && s.now.Sub(s.underway.lastWriteEnds) > max(deleteAgain, 2*info.Settle) {
			s.underway.deleteSent, t.wake = false, true
		}
	}
	t.interval = interval
}

func (t *step) notFound() {
	s, missing, settle := &t.s, &t.s.observed.missing, t.s.wanted.info().Settle
	s.observed.failed = nil
	written := s.recorded.state != nil || s.recorded.entry.External
	switch {
	case missing.confirmed:
	case s.now.Before(s.provesAfter()):
		t.pollAt(s.provesAfter())
		return
	case !written, settle <= 0:
	case missing.first.IsZero():
		missing.first = s.now
		t.pollAt(s.now.Add(settle))
		return
	case s.now.Before(missing.first.Add(settle)):
		t.pollAt(missing.first.Add(settle))
		return
	}
	missing.confirmed = true
	s.observed.answer = nil
	switch {
	case s.recorded.isClaimed():
		t.unclaimed("does not exist")
		return
	case s.recorded.isDeleting():
		// The key stays until the entry of the inventory is dropped.
		t.record(callResult{
			token:    s.recorded.state.Token,
			change:   func(s *externalstate.State) { s.Gone = true },
			recorded: func(t *step) { t.s.observed.answer = nil },
		})
	case s.isUncertain():
		t.withoutEffect()
	}
	t.interval = s.wanted.info().Poll
}

// notObserved enters the failure of an observation. The failure is always transient, because a later observation may
// succeed, even if the external system refused this one for good. The next observation is made after the delay that the
// external system asked for, or else after a back-off that is not longer than the interval of polls. A delay that it
// asked for also binds the passes: they do not ask before the time until.
func (t *step) notObserved(err error) {
	s := &t.s
	f, after := failureOf(MethodObserve, err)
	var until time.Time
	if after > 0 && f.Class == plan.Transient {
		until = s.now.Add(after)
	}
	f.Class = plan.Transient
	attempts := s.observed.failed.countWith(after)
	s.observed.failed = &failed{failure: f, attempts: attempts, until: until}
	if after <= 0 {
		after = min(callRetries.After(attempts), s.wanted.info().Poll)
	}
	t.interval = after
}

// withoutEffect stores that Create had no effect, so that a later process is not uncertain.
func (t *step) withoutEffect() {
	s := &t.s
	s.underway.sent, s.observed.answer = false, nil
	state := s.recorded.last()
	if state.Intent != externalstate.IntentCreate {
		return
	}
	attempts := state.Attempts
	// The end of the attempt is known, so until this is stored, no pass suspects another process of a call of Create.
	s.recorded.attempts.own = intent{state.Token, attempts, true}
	t.record(callResult{token: state.Token, change: func(s *externalstate.State) {
		// Meanwhile another process may have begun another attempt.
		if s.Attempts == attempts {
			s.Intent = externalstate.IntentNone
		}
	}})
	t.pollAt(s.now)
}

// identified stores the id of an external whose creation was uncertain, or whose state was lost.
func (t *step) identified(id string) {
	t.record(callResult{
		token:  t.s.recorded.token(),
		base:   restored(id, &t.s),
		change: func(s *externalstate.State) { s.ID, s.Intent = id, externalstate.IntentNone },
		recorded: func(t *step) {
			t.s.underway.sent, t.s.observed.missing = false, absence{}
			t.s.underway.failures = without(t.s.underway.failures, plan.VerbCreate)
			t.pollAt(t.s.now)
		},
	})
}

// unclaimed stores that the id that a person gave is not that of the external. problem says why. Nothing is created,
// and the person is asked again.
func (t *step) unclaimed(problem string) {
	state := t.s.recorded.state
	id := state.ID
	t.record(callResult{
		token:  state.Token,
		change: func(s *externalstate.State) { s.ID, s.Intent = "", externalstate.IntentCreate },
		recorded: func(t *step) {
			o := &t.s.observed
			t.s.underway.sent, o.missing, o.answer = true, absence{}, nil
			o.rejectedID = id
			o.rejection = fmt.Sprintf("the external %q, which the answer named, %s, and nothing was created", id, problem)
		},
	})
}
