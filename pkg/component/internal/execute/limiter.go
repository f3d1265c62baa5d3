package execute

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// limiter limits the concurrent actions in a target. Each action needs a slot, and the slots are shared fairly among
// runs. A free slot goes to the waiting run that holds the fewest slots. Among several such runs, it goes to the run
// that has waited longest. So each of k runs has about 1/k of the slots, regardless of the number of its actions. A
// single run can have all slots, and a new run gets the next free slot.
type limiter struct {
	mu   sync.Mutex
	free int
	// waiting are the waiting runs in the order of their arrival. Each worker of the reconciler makes one run at a time,
	// so the list is short.
	waiting []*share
}

// share holds the slots of a run. Only one goroutine may call acquire; any goroutine may call release.
type share struct {
	limiter *limiter
	// held is the number of slots. The mutex of the limiter protects held.
	held int
	// granted receives a value when this run was waiting and got a slot.
	granted chan struct{}
}

func newLimiter(slots int) *limiter { return &limiter{free: slots} }

// newShare returns the share of a new run. The share has no slots yet.
func (l *limiter) newShare() *share { return &share{limiter: l, granted: make(chan struct{}, 1)} }

// acquire waits for a slot, which the caller must release. acquire returns an error if ctx ends or the run is stopped.
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
	s.leaveQueue()
	return ended(ctx, stop)
}

// takeOrQueue takes a free slot, or adds the run to the queue if no slot is free. While runs are in the queue, no slot
// is free.
func (s *share) takeOrQueue() bool {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free > 0 {
		l.free--
		s.held++
		return true
	}
	l.waiting = append(l.waiting, s)
	return false
}

// leaveQueue removes the run from the queue. A slot that was granted at the same moment goes to the next run.
func (s *share) leaveQueue() {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := slices.Index(l.waiting, s); at >= 0 {
		l.waiting = slices.Delete(l.waiting, at, at+1)
		return
	}
	<-s.granted
	s.held--
	l.passOn()
}

// release returns a slot to the limiter.
func (s *share) release() {
	s.limiter.mu.Lock()
	defer s.limiter.mu.Unlock()
	s.held--
	s.limiter.passOn()
}

// passOn gives a free slot to the next waiting run. The caller must hold the lock.
func (l *limiter) passOn() {
	if len(l.waiting) == 0 {
		l.free++
		return
	}
	fewest := 0
	for i, s := range l.waiting {
		if s.held < l.waiting[fewest].held {
			fewest = i
		}
	}
	s := l.waiting[fewest]
	l.waiting = slices.Delete(l.waiting, fewest, fewest+1)
	s.held++
	s.granted <- struct{}{}
}

// errStopped is the error of an action that did not begin because its run was stopped.
var errStopped = errors.New("the run was stopped")

// ended returns an error if ctx has ended or stop is closed, so that no further action may begin.
func ended(ctx context.Context, stop <-chan struct{}) error {
	select {
	case <-stop:
		return errStopped
	default:
		return ctx.Err()
	}
}
