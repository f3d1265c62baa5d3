package notification

import (
	"context"
	"sync"
	"time"
)

// The limits of a queue.
const (
	maxWaiting      = 1000
	maxWaitingBytes = 4 << 20
)

// item is an Event that waits.
type item struct {
	body []byte
	at   time.Time
}

// queue holds the Events that wait, the oldest first. It is safe for concurrent use.
type queue struct {
	mu      sync.Mutex
	waiting []item
	bytes   int
	closed  bool

	// added has at most one signal, which says that there are Events.
	added chan struct{}
	// closing is closed by close.
	closing chan struct{}
}

func newQueue() *queue { return &queue{added: make(chan struct{}, 1), closing: make(chan struct{})} }

// add adds an Event, and returns the number of lost Events. A full queue loses its oldest Events, because the last
// Event of a component tells its current state. A closed queue loses the new Event.
func (q *queue) add(i item) (lost int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return 1
	}
	q.waiting = append(q.waiting, i)
	q.bytes += len(i.body)
	for ; len(q.waiting) > maxWaiting || q.bytes > maxWaitingBytes; lost++ {
		q.removeFirst()
	}
	select {
	case q.added <- struct{}{}:
	default:
	}
	return lost
}

// removeFirst removes and returns the oldest Event. The caller holds the lock, and the queue is not empty.
func (q *queue) removeFirst() item {
	first := q.waiting[0]
	q.waiting[0] = item{} // The array stays in use, and must not keep the body.
	q.waiting = q.waiting[1:]
	q.bytes -= len(first.body)
	return first
}

// take removes the oldest Event. found is false if the queue is empty, and ended is true if it stays so.
func (q *queue) take() (i item, found, ended bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return item{}, false, q.closed
	}
	return q.removeFirst(), true, false
}

// next removes the oldest Event, for which it waits if necessary. found is false if the context has ended, or if the
// queue is closed and empty.
func (q *queue) next(ctx context.Context) (i item, found bool) {
	for ctx.Err() == nil {
		i, found, ended := q.take()
		if found || ended {
			return i, found
		}
		select {
		case <-q.added:
		case <-q.closing:
		case <-ctx.Done():
		}
	}
	return item{}, false
}

// close ends the queue: later Events are lost. close must be called once.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	close(q.closing)
}

// drop removes all Events, and returns their number.
func (q *queue) drop() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	lost := len(q.waiting)
	q.waiting, q.bytes = nil, 0
	return lost
}
