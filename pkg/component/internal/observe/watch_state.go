package observe

import (
	"context"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// watchState contains the fields that all watches of an Observer have in common: the components that use the watch, and
// whether its objects are known. The Observer's lock protects the fields.
type watchState struct {
	observer *Observer
	cancel   context.CancelFunc
	// retrySignal ends the pause of the reflector loop after a failure.
	retrySignal chan struct{}
	// users are the owner ids of the components that use the watch.
	users map[string]bool

	progress progress
	// reason and message state why the objects are not known. They are empty once the first list has succeeded and the
	// watch is open.
	reason  plan.WaitReason
	message string
	// readable, if set, reports whether objects of the type can be read although they cannot be listed.
	readable func() bool
}

func newWatchState(o *Observer, cancel context.CancelFunc, message string) watchState {
	return watchState{
		observer: o, cancel: cancel, retrySignal: make(chan struct{}, 1), users: map[string]bool{},
		reason: plan.WaitObserving, message: message,
	}
}

// retryNow ends the pause of a failed watch, after the minimum retry delay. The caller holds the lock.
func (s *watchState) retryNow() {
	if s.reason != plan.WaitNone {
		signal(s.retrySignal)
	}
}

// signal sends without blocking. If an earlier signal was not received yet, no second signal is sent, because the
// receiver needs only one signal.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// listFailed implements loopListener. After a network failure, known objects remain known.
func (s *watchState) listFailed(f watchFailure) {
	if f.reason == plan.WaitNotListable && s.readable != nil && s.readable() {
		f.reason, f.message = plan.WaitUnwatched, "the API server supports no list and watch of the type"
	}
	s.observer.mu.Lock()
	defer s.observer.mu.Unlock()
	if s.progress.noteFailure(f); s.progress.synced() {
		f = watchFailure{}
	}
	s.setReason(f.reason, f.message)
}

// watchOpened implements loopListener.
func (s *watchState) watchOpened() {
	s.observer.mu.Lock()
	defer s.observer.mu.Unlock()
	s.progress.watching = true
	s.updateSynced()
}

// noteList notes that a list was stored. The caller holds the lock.
func (s *watchState) noteList() {
	s.progress.listed = true
	s.updateSynced()
}

// updateSynced marks the objects as known if the list has succeeded and the watch is open. The caller holds the lock.
func (s *watchState) updateSynced() {
	if s.progress.synced() {
		s.setReason(plan.WaitNone, "")
	}
}

// setReason sets the reason why the objects are not known. If the reason changed, it enqueues all components that use
// the watch. The caller holds the lock.
func (s *watchState) setReason(reason plan.WaitReason, message string) {
	changed := s.reason != reason
	s.reason, s.message = reason, message
	if changed {
		s.observer.definitions.noteReason(s, reason)
		s.observer.components.enqueueAll(s.users)
	}
}
