package externals

import (
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/manifests"
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

// attempt identifies the recorded attempt to create the external.
func (it *item) attempt() intent {
	if it.state == nil {
		return intent{}
	}
	return intent{token: it.state.Token, attempts: it.state.Attempts}
}

// createWindow returns the window of the next call of Create. A call whose effect is not known may be repeated while
// the external system knows its token.
func (it *item) createWindow() window {
	if it.sent {
		return window{it.state.Since, it.info().IdempotentFor}
	}
	return window{it.recordedAt, it.width()}
}

// width returns the width of the window of a call: its time-out, or the time for which it may wait if the limits permit
// only few calls.
func (it *item) width() time.Duration {
	info := it.info()
	if info.Rate <= 0 {
		return info.Timeout
	}
	return max(info.Timeout, time.Duration(min(2/info.Rate, time.Hour.Seconds())*float64(time.Second)))
}

// maxClockSkew is the difference between the clocks of two machines up to which an attempt that another machine
// recorded is not taken for older than it is.
const maxClockSkew = 5 * time.Minute

// attemptEnds returns the time at which the recorded attempt of another process has ended. The attempt was recorded
// before now, whatever the clock of the other machine says. Its own time is used only if it is so old that a difference
// between the clocks does not matter.
func (it *item) attemptEnds() time.Time {
	longest := 2 * max(it.width(), it.state.Window)
	began := it.state.Began
	if began.Before(it.state.Since) {
		began = it.state.Since // Former versions recorded only the time of the first attempt.
	}
	ends, recorded := it.owner.manager.now().Add(longest), began.Add(longest+maxClockSkew)
	if recorded.Before(ends) {
		return recorded
	}
	return ends
}

// mayBeBegun reports whether the recorded create of an external with an entry may have been called by a process: the
// intent is not ours, or another process may have recorded the entry. In a pass, Create follows the records at once.
func (it *item) mayBeBegun() bool {
	if it.state == nil || it.state.Intent != externalstate.IntentCreate || it.state.ID != "" || !it.entry.Begun {
		return false
	}
	return it.ownIntent != intent{it.state.Token, it.state.Attempts, true}
}

// suspect notes that another process may have called Create or Delete, and when its call has ended. After a create that
// may have been called, the external is uncertain.
func (it *item) suspect() {
	switch {
	case it.driver == nil:
	case it.isLost() && it.isCreationRecorded() && !it.knowsLostCreation():
		it.lostCreation = it.entry.CreationToken
		it.written = later(it.written, it.owner.manager.now().Add(2*it.width()))
	case !it.sent && it.mayBeBegun():
		it.sent, it.written = true, it.attemptEnds()
	case it.isDeleting() && !it.isOwnDeletion() && !it.foreignAttempt.Equal(it.state.Began):
		it.foreignAttempt, it.foreignUntil = it.state.Began, it.attemptEnds()
	}
}

// knowsLostCreation reports whether the create that the inventory records has ended, or when its call has ended,
// although its state is lost: this process made the call, or waits for the end of a call of another process.
func (it *item) knowsLostCreation() bool {
	return slices.Contains([]string{it.ownIntent.token, it.lostCreation}, it.entry.CreationToken)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// isOwnDeletion reports whether this process recorded the last attempt to delete the external.
func (it *item) isOwnDeletion() bool {
	return it.isDeleting() && !it.recordedAt.IsZero() && it.recordedAt.Equal(it.state.Began)
}

// provesAfter returns the time after which the answer that there is no such external proves something: the settle time
// after the last write. If another process may still delete the external, and another external may get the same id, it
// must not be created before.
func (it *item) provesAfter() time.Time {
	last := it.written
	if it.isDeleting() && it.info().Identifies && last.Before(it.foreignUntil) {
		last = it.foreignUntil
	}
	return last.Add(it.info().Settle)
}

// mayDelete reports whether a deletion that is recorded must be continued by a call of Delete.
func (it *item) mayDelete() bool {
	_, blocked := it.blocked()
	return !blocked && it.account != nil && it.isDeleting() && !it.deleteSent && it.state.ID != ""
}

// repeatDeletions adds the intents of deletions that are continued to changes. Each attempt is recorded, as those of
// creates are, so a process that does not know that another one took over must not delete a later external with the
// same id. The caller holds the lock.
func (s *Session) repeatDeletions(changes map[manifests.Key]*externalstate.State) {
	now := s.owner.manager.now()
	for key, it := range s.owner.items {
		if _, changing := changes[key]; changing || !it.mayDelete() {
			continue
		}
		changes[key] = it.deleting(now)
		it.recordedAt = now
	}
}

// deleting returns the state with the intent of a deletion.
func (it *item) deleting(now time.Time) *externalstate.State {
	next := *it.state
	if next.Intent != externalstate.IntentDelete {
		next.Intent, next.Since = externalstate.IntentDelete, now
	}
	next.Began, next.Window = now, it.width()
	return &next
}

// tooLate ends a call that did not begin in its window. The next pass decides anew. The caller holds the lock.
func (it *item) tooLate() {
	it.writing = nil
	it.pollAt(it.owner.manager.now())
	it.changed()
	it.owner.wake()
}
