package externals

import (
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
)

// A process may be paused for any time, and another one takes over its externals meanwhile. So a call that writes is
// bounded from the record of its intent on: it begins in its window after the record, or not at all, and ends within
// its time-out after it began. No window is shorter than the time-out. The other process waits for twice the window
// before it concludes anything from the absence of the external.

// window is the time in which a call that writes may begin. The zero value has no end.
type window struct {
	from  time.Time
	width time.Duration
}

// isOver reports whether the window ended. The wall clock and the monotonic clock are compared: one of them may stand
// still while the process, or its machine, is paused.
func (w window) isOver(now time.Time) bool {
	if w.width <= 0 {
		return false
	}
	return now.Sub(w.from) > w.width || now.Round(0).Sub(w.from.Round(0)) > w.width
}

// minUpdateWindow is the shortest window of an update. It is longer than the time within which the plan takes another
// update for one that had no effect, because an update that waits for the limits of its account is planned again.
const minUpdateWindow = time.Minute

// createWindow returns the window of the next call of Create. A call whose effect is not known may be repeated while
// the external system knows its token.
func (s *situation) createWindow() window {
	if s.underway.sent {
		return window{s.recorded.state.Since, s.wanted.info().IdempotentFor}
	}
	return window{s.recorded.attempts.ownAt, s.wanted.width()}
}

// maxClockSkew is the difference between the clocks of two machines up to which an attempt that another machine
// recorded is not taken for older than it is.
const maxClockSkew = 5 * time.Minute

// attemptEnds returns the time at which the recorded attempt of another process has ended. The attempt was stored
// before now, whatever the clock of the other machine says. Its own time is used only if it is so old that a difference
// between the clocks does not matter. width is the width of the windows of this process.
func attemptEnds(state *externalstate.State, width time.Duration, now time.Time) time.Time {
	longest := 2 * max(width, state.Window)
	began := later(state.Began, state.Since) // Earlier versions stored only the time of the first attempt.
	ends, recorded := now.Add(longest), began.Add(longest+maxClockSkew)
	if recorded.Before(ends) {
		return recorded
	}
	return ends
}

// suspectOtherProcess notes that another process may have called Create or Delete, and when its call has ended at the
// latest. After a create that may have been called, it is uncertain whether the external exists.
func (t *step) suspectOtherProcess() {
	s, r := &t.s, &t.s.recorded
	switch {
	case s.wanted.driver == nil:
		// Nothing is known of the kind, so no call is made, and none has to be waited for.
	case r.isLost() && r.isCreationRecorded() && !r.knowsLostCreation():
		// The recorded state was lost after a creation began. The creation may have begun just now.
		r.attempts.lost = r.entry.CreationToken
		s.underway.lastWriteEnds = later(s.underway.lastWriteEnds, s.now.Add(2*s.wanted.width()))
	case !s.underway.sent && r.mayBeBegun():
		// The record says that a create begins, and this process did not send it.
		s.underway.sent, s.underway.lastWriteEnds = true, attemptEnds(r.state, s.wanted.width(), s.now)
	case r.isDeleting() && !r.isOwnDeletion() && !r.attempts.foreignDelete.Equal(r.state.Began):
		// The record says that a delete began, and this process did not send it.
		r.attempts.foreignDelete = r.state.Began
		r.attempts.foreignUntil = attemptEnds(r.state, s.wanted.width(), s.now)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// provesAfter returns the time after which the answer that there is no such external proves something: the settle time
// after the last write. If another process may still delete the external, and another external may get the same id, it
// must not be created before.
func (s *situation) provesAfter() time.Time {
	last, info := s.underway.lastWriteEnds, s.wanted.info()
	if s.recorded.isDeleting() && info.Identifies {
		last = later(last, s.recorded.attempts.foreignUntil)
	}
	return last.Add(info.Settle)
}
