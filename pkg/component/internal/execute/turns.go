package execute

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// turns bounds the requests under way in a target, and shares them among the runs that want to make some: a slot that becomes free goes to
// the run that holds the fewest, of several to the one that has waited longest. So each of k runs has about a k-th of the slots, however
// many actions it has left, a single one has all of them, and a newcomer is served first.
type turns struct {
	mu   sync.Mutex
	free int
	// waiting are in the order in which they came. They are never more than components are worked on at once.
	waiting []*share
}

// share is what a run holds of the slots. One goroutine acquires; any may release.
type share struct {
	turns *turns
	// held is guarded by the mutex of turns.
	held int
	// granted tells the run, if it waits, that it holds one more.
	granted chan struct{}
}

func newTurns(bound int) *turns { return &turns{free: bound} }

// share begins a run.
func (t *turns) share() *share { return &share{turns: t, granted: make(chan struct{}, 1)} }

// acquire takes a slot, which the caller releases, or returns why there is none: ctx ended, or the run is to stop.
func (s *share) acquire(ctx context.Context, stop <-chan struct{}) error {
	if err := ended(ctx, stop); err != nil {
		return err
	}
	if s.takeOrQueue() {
		return nil
	}
	select {
	case <-s.granted:
		return nil
	case <-ctx.Done():
	case <-stop:
	}
	s.giveUp()
	return ended(ctx, stop)
}

// takeOrQueue takes a slot where one is free. Slots are free only while nobody waits.
func (s *share) takeOrQueue() bool {
	t := s.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free > 0 {
		t.free--
		s.held++
		return true
	}
	t.waiting = append(t.waiting, s)
	return false
}

// giveUp leaves the queue. A slot that was granted at the same moment goes to the next.
func (s *share) giveUp() {
	t := s.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.Index(t.waiting, s); at >= 0 {
		t.waiting = slices.Delete(t.waiting, at, at+1)
		return
	}
	<-s.granted
	s.held--
	t.next()
}

// release gives a slot back.
func (s *share) release() {
	s.turns.mu.Lock()
	defer s.turns.mu.Unlock()
	s.held--
	s.turns.next()
}

// next hands on a slot that became free. The caller holds the lock.
func (t *turns) next() {
	if len(t.waiting) == 0 {
		t.free++
		return
	}
	fewest := 0
	for i, c := range t.waiting {
		if c.held < t.waiting[fewest].held {
			fewest = i
		}
	}
	c := t.waiting[fewest]
	t.waiting = slices.Delete(t.waiting, fewest, fewest+1)
	c.held++
	c.granted <- struct{}{}
}

// errStopped is why an action was not begun.
var errStopped = errors.New("the run was stopped")

// ended returns why no action may begin any more.
func ended(ctx context.Context, stop <-chan struct{}) error {
	select {
	case <-stop:
		return errStopped
	default:
		return ctx.Err()
	}
}
