package reconcile

import (
	"errors"
	"fmt"
	"time"
)

// New inputs of a component with dependencies are applied settleTime after they were first seen, and maxSettleTime
// after the first of several changes at the latest. If a person changes several components one after the other, the
// operator has then seen the changes of all of them, and can keep their order. A deletion is reported as blocked
// settleTime after it was first seen.
const (
	settleTime    = 3 * time.Second
	maxSettleTime = 15 * time.Second
)

// settling are the new inputs of a component that are not applied yet, or its deletion. The zero value means that
// there are none.
type settling struct {
	// digest is that of the inputs.
	digest string
	// seen is the time when these inputs were seen first, and zero if they have settled. began is the time since which
	// only the settle time has delayed new inputs.
	seen, began time.Time
}

// due returns the time from which on inputs may be applied.
func (s *settling) due(digest string, now time.Time) time.Time {
	if s.digest != digest {
		if s.began.IsZero() {
			s.began = now
		}
		s.digest, s.seen = digest, now
	}
	due, latest := s.seen.Add(settleTime), s.began.Add(maxSettleTime)
	if !s.began.IsZero() && latest.Before(due) {
		return latest
	}
	return due
}

// held notes that a dependency does not permit the last inputs. Other inputs that follow have the whole time again.
func (s *settling) held() { s.began = time.Time{} }

// settled notes that the last inputs have settled. A pass may then end before it applies them, for example because it
// waits for its turn to render. The next pass must not wait again, because it would lose this turn.
func (s *settling) settled() { s.seen, s.began = time.Time{}, time.Time{} }

// settlesError ends a pass without a report, because other components may change meanwhile.
type settlesError struct{ after time.Duration }

// settles reports whether an error is a settlesError.
func settles(err error) bool {
	_, ok := errors.AsType[*settlesError](err)
	return ok
}

// Error implements error.
func (e *settlesError) Error() string {
	return fmt.Sprintf("other components may change for %s", e.after)
}
