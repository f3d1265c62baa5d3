package externals

import (
	"maps"
	"time"

	"github.com/fairlead-io/fairlead/internal/backoff"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// step leads from the situation of an external to the next one. It makes no call: it says what follows, and the
// component carries that out.
type step struct {
	// s is the situation. The functions of a step change it.
	s situation
	// next is the time of the next observation, unless an earlier one is scheduled; zero if there is none. interval is
	// the same as a time from now on, which is spread.
	next     time.Time
	interval time.Duration
	// resume observes the external now, unless an observation is scheduled.
	resume bool
	// wake starts a pass, and compare starts one if the facts changed.
	wake, compare bool
	// call is a call that writes. It is begun.
	call *call
	// result is to be stored.
	result *callResult
	// alarm starts a pass later.
	alarm *alarm
	// finished is the action that ended, and freed are the Secrets that it may need no more.
	finished *action
	freed    []string
	// event is the reason and the message of an Event.
	event [2]string
}

type alarm struct {
	at    time.Time
	holds func(*situation) bool
}

// callResult is the result of a call, to be stored. Results that arrive together are stored together, unless one of
// them is urgent.
type callResult struct {
	// token is the token of the external.
	token  string
	urgent bool
	// base, if set, is the state that is changed if the recorded one is lost.
	base *externalstate.State
	// change changes the state, and recorded is the step after it is stored.
	change   func(*externalstate.State)
	recorded func(*step)
}

// stateToRecord returns the state with a result, or nil if the result is that of another creation.
func (s *situation) stateToRecord(r callResult) *externalstate.State {
	base := s.recorded.state
	switch {
	case base != nil && base.Token == r.token:
	case s.recorded.isLost() && r.base != nil:
		base = r.base
	default:
		return nil
	}
	next := *base
	r.change(&next)
	return &next
}

// pollAt sets the time of the next observation, unless the step has an earlier one.
func (t *step) pollAt(at time.Time) {
	if t.next.IsZero() || at.Before(t.next) {
		t.next = at
	}
}

func (t *step) record(r callResult) { t.s.underway.saving, t.result = true, &r }

// fail notes the failure of a call that writes. The call is repeated after the delay that the external system asked for,
// or else after a back-off that doubles.
func (t *step) fail(verb plan.Verb, f plan.Failure, after time.Duration, digest string) {
	u := &t.s.underway
	previous := u.failures[verb]
	if previous != nil && previous.digest != digest {
		previous = nil
	}
	attempts := previous.countWith(after)
	if after <= 0 {
		after = callRetries.After(attempts)
	}
	last := &failed{failure: f, attempts: attempts, until: t.s.now.Add(after), digest: digest}
	u.failures = without(u.failures, verb)
	u.failures[verb] = last
	t.alarm = &alarm{last.until, func(s *situation) bool { return s.underway.failures[verb] == last }}
}

// without returns a copy of failures without those of a verb.
func without(failures map[plan.Verb]*failed, verb plan.Verb) map[plan.Verb]*failed {
	others := map[plan.Verb]*failed{}
	maps.Copy(others, failures)
	delete(others, verb)
	return others
}

// callRetries are the delays after calls that failed.
var callRetries = backoff.Backoff{First: 500 * time.Millisecond, Last: time.Minute}

// adopt enters what the Secret contains: a state, or the damage of it.
func (t *step) adopt(state *externalstate.State, damaged string) {
	s, previous, before := &t.s, t.s.recorded.state, t.s.recorded.creation()
	s.recorded.state, s.recorded.damaged = state, damaged
	t.compareRecords(before)
	if state = s.recorded.state; previous != nil && state != nil && state.Attempts != previous.Attempts {
		// The answers say nothing about another attempt.
		s.observed.answer, s.observed.missing, s.observed.failed, s.underway.sent = nil, absence{}, nil, false
	}
	if state != nil && (state.Intent != externalstate.IntentCreate || state.ID != "") {
		s.underway.sent = false
	}
	t.suspectOtherProcess()
}

// compareRecords compares the recorded state with the entry of the inventory. If the entry names a later creation, an
// older version of the Secret was restored. If the creation is another one than before, the answers are forgotten.
func (t *step) compareRecords(before creationOf) {
	r := &t.s.recorded
	if r.state != nil && creation(r.entryToken()) > creation(r.state.Token) {
		r.state, r.damaged = nil, olderVersion
	}
	if before != (creationOf{}) && before != r.creation() {
		o, u := &t.s.observed, &t.s.underway
		o.answer, o.missing, o.failed, o.rejection = nil, absence{}, nil, ""
		u.deleteSent, u.sent, u.failures, u.createError = false, false, nil, ""
	}
}

// demand makes the next observation due, unless its service has asked to repeat it later.
func (t *step) demand() {
	o := &t.s.observed
	o.demanded = t.s.now
	if t.s.canAsk() && (o.failed == nil || !t.s.now.Before(o.failed.until)) {
		t.pollAt(t.s.now)
	}
}

// expectAnswer reports whether a pass waits for the first answer. It does so for a limited time.
func (t *step) expectAnswer() bool {
	o := &t.s.observed
	if o.asked || !t.s.canAsk() || !t.s.isIdle() {
		return false
	}
	if o.firstAsked.IsZero() {
		o.firstAsked = t.s.now
		t.alarm = &alarm{t.s.now.Add(maxFirstAnswers), func(s *situation) bool { return !s.observed.asked }}
	}
	return t.s.now.Before(o.firstAsked.Add(maxFirstAnswers))
}

// maxFirstAnswers is the time for which a pass waits for the first answers of externals.
const maxFirstAnswers = 10 * time.Second
