package externals

import (
	"cmp"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// situation is what is known about an external at one time. Facts, decisions and steps are made from it alone.
type situation struct {
	wanted   wanted
	recorded recorded
	observed observed
	underway underway
	now      time.Time
}

// observed is what the calls of this process showed.
type observed struct {
	// asked is set after the first answer of any kind. firstAsked is the time of the first question, and demanded the time
	// of the last demand for a new answer: the answer to an earlier question may be older.
	asked                bool
	firstAsked, demanded time.Time
	// answer is the last answer about an external that exists; nil if there is none. answeredAt is its time.
	answer     *external.Answer
	answeredAt time.Time
	// unverified is set from a write to the next observation. Until then the answer may show the state before the write.
	unverified bool
	// missing is the absence, as far as it is known.
	missing absence
	// failed is the failure of the last observations; nil after a success.
	failed *failed
	// existing is the id of an external that Create found in place of a new one.
	existing string
	// rejectedID is the id in the last answer of a person that was looked up and is not that of the external. It is empty
	// when the answer is withdrawn. rejection says why it is not.
	rejectedID, rejection string
	// immutable are the changed fields that cannot be changed, for the manifest with the digest immutableOf.
	immutable   []string
	immutableOf string
}

// absence is what is known about the absence of an external. An external is absent only if two answers say so, the
// second one at least the settle time after the first one and after the last write.
type absence struct {
	first     time.Time
	confirmed bool
}

// underway is the call under way, and what the calls of this process may have done without a record of it.
type underway struct {
	// verb is the action whose call is under way, and since the start of the call. verb is empty if there is none.
	// saving is set while its result is being stored, and unsaved is the error of the last try to store it. unsaved is
	// empty after a success.
	verb    plan.Verb
	since   time.Time
	saving  bool
	unsaved string
	// observing is set while a call asks for the state.
	observing bool
	// writes counts the calls that write.
	writes int
	// sent is set if Create may have been called for the current token, and its effect is not known. repeated is set if
	// the last call of Create repeated such a call. createError is the error of such a call.
	sent, repeated bool
	createError    string
	// deleteSent is set after Delete succeeded in this process.
	deleteSent bool
	// lastWriteEnds is the time at which the last call that writes has ended at the latest. It is in the future if another
	// process may still be in its call.
	lastWriteEnds time.Time
	// failures are the failures of the calls that write, by verb. The map is never changed.
	failures map[plan.Verb]*failed
}

// failed is a call that failed.
type failed struct {
	failure plan.Failure
	// attempts is the number of failures in a row for the back-off.
	attempts int
	// until is the time before which the call is not repeated. digest is that of the manifest of the call.
	until  time.Time
	digest string
}

// countWith returns the number of failures in a row after one more. A failure after which the external system asked for
// a delay is not counted, because the back-off does not hold for it. f is nil if there was no failure before.
func (f *failed) countWith(asked time.Duration) int {
	count := 0
	if f != nil {
		count = f.attempts
	}
	if asked <= 0 {
		count++
	}
	return count
}

// differs says how the external differs from its manifest. It is empty until an observation after the last write.
func (o *observed) differs() string {
	if o.unverified || o.answer == nil {
		return ""
	}
	return o.answer.Differs
}

// isStale reports whether the last answer is too old, because the last observations failed.
func (o *observed) isStale(info external.Info, now time.Time) bool {
	return o.failed != nil && now.Sub(o.answeredAt) > 2*info.Poll+info.Timeout+time.Minute
}

// isIdle reports whether no call that writes is under way, nor its result being stored.
func (s *situation) isIdle() bool { return s.underway.verb == "" && !s.underway.saving }

// isUncertain reports whether Create may have had an effect that is not stored.
func (s *situation) isUncertain() bool {
	return s.recorded.isIntended() && s.underway.sent && s.isIdle()
}

// isJustClaimed reports whether no observation has been made with the id that a person gave.
func (s *situation) isJustClaimed() bool {
	return s.recorded.isClaimed() && !s.underway.observing && s.observed.failed == nil && s.observed.missing.first.IsZero()
}

// isDone reports whether no more calls are made for the external, because it is deleted or released.
func (s *situation) isDone() bool { return s.wanted.desired == nil && s.recorded.isGone() }

// isUnused reports whether an external is neither desired nor recorded.
func (s *situation) isUnused() bool {
	return s.wanted.desired == nil && !s.recorded.entry.External && s.recorded.state == nil && s.isIdle()
}

// id returns the id for an observation, or an empty text if it is not known.
func (s *situation) id() string {
	if s.recorded.isOwned() {
		return s.recorded.state.ID
	}
	return cmp.Or(s.wanted.knownID, s.observed.existing)
}

// canAsk reports whether a call can show whether the external exists.
func (s *situation) canAsk() bool {
	if s.wanted.driver == nil || s.wanted.unusable != nil || s.wanted.account == (accountKey{}) {
		return false
	}
	if s.recorded.isGone() {
		// Meanwhile somebody else may have created an external with the same id.
		return s.wanted.desired != nil && s.wanted.knownID != ""
	}
	return s.id() != "" || s.mustFind()
}

// mustFind reports whether the external must be found by its token.
func (s *situation) mustFind() bool {
	return (s.isUncertain() || s.recorded.isLost()) && s.wanted.info().Finds && s.recorded.token() != ""
}

// isListed reports whether a call of List can observe the external: its id is known, and nothing about it is uncertain.
func (s *situation) isListed() bool {
	return s.wanted.info().Lists && s.id() != "" && !s.isUncertain() && !s.recorded.isLost()
}

// mayObserve reports whether an observation may begin.
func (s *situation) mayObserve() bool { return !s.underway.observing && s.isIdle() && s.canAsk() }

// mayRepeat reports whether Create may be repeated with the same token although its result is not known.
func (s *situation) mayRepeat() bool {
	info := s.wanted.info()
	return s.isUncertain() && !info.Finds && s.id() == "" && info.IdempotentFor > 0 &&
		s.now.Before(s.recorded.state.Since.Add(info.IdempotentFor))
}

// mayDelete reports whether a deletion whose intent is stored must be continued by a call of Delete.
func (s *situation) mayDelete() bool {
	return !s.isBlocked() && s.wanted.account != (accountKey{}) && s.recorded.isDeleting() &&
		!s.underway.deleteSent && s.recorded.state.ID != ""
}

// canAct reports whether an action can begin: a handler exists, no call is under way, and none failed just before.
func (s *situation) canAct() bool {
	return s.wanted.driver != nil && s.wanted.account != (accountKey{}) && s.isIdle() && s.failure() == nil
}

// isBlocked reports whether nothing can be decided about the external now: no call can be made, one is under way, or
// one failed and is not repeated yet.
func (s *situation) isBlocked() bool {
	return s.wanted.driver == nil || s.wanted.unusable != nil || !s.isIdle() || s.failure() != nil
}

// failure returns the failure of a call that is not repeated yet. A failure ends when the manifest changes.
func (s *situation) failure() *plan.Failure {
	desired := s.wanted.desired
	for _, f := range s.underway.failures {
		if s.now.Before(f.until) && (desired == nil || f.digest == "" || f.digest == desired.Digest) {
			return &f.failure
		}
	}
	return nil
}

// manifest returns the desired manifest, or else the one that was applied last. It is nil if there is none.
func (s *situation) manifest() map[string]any {
	if desired := s.wanted.manifest(); desired != nil {
		return desired
	}
	return s.recorded.applied()
}

// request returns the request of a call. manifest is the manifest whose spec and references the call uses; nil means
// that of situation.manifest.
func (s *situation) request(manifest map[string]any) external.Request {
	w := &s.wanted
	unbound := manifest == nil && w.hasHoles()
	if manifest == nil {
		manifest = s.manifest()
	}
	r := external.Request{
		Component: w.component, Key: w.key, Spec: spec(manifest), ID: s.id(), Token: s.recorded.token(),
		References: w.contentsOf(referencesIn(manifest)), Credentials: w.contentsOf(w.credentials()),
	}
	if applied := s.recorded.applied(); applied != nil {
		r.Applied = spec(applied)
		if unbound {
			r.Spec = r.Applied // The applied manifest contains the values that were bound last.
		}
	}
	r.State = s.recorded.last().Data
	return r
}
