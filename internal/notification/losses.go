package notification

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// result is the result of an Event.
type result string

const (
	resultPosted result = "posted"
	// resultRepeated means that the receiver has an equal Event.
	resultRepeated result = "repeated"
	// resultRefused means that the receiver will never accept the Event.
	resultRefused result = "refused"
	// resultFailed means that another attempt can succeed, or that there were too many.
	resultFailed result = "failed"
	// resultDropped means that the queue was full, or that the process ended.
	resultDropped result = "dropped"
)

// resultOf returns the result of an attempt. The notification-controller answers 202 to an Event, 429 to one that
// equals an Event of the last minutes, and 400 or 413 to one that it cannot decode.
func resultOf(status int) result {
	switch {
	case status >= http.StatusOK && status < http.StatusMultipleChoices:
		return resultPosted
	case status == http.StatusTooManyRequests:
		return resultRepeated
	case status == http.StatusRequestTimeout, status >= http.StatusInternalServerError:
		return resultFailed
	}
	return resultRefused
}

// The causes of a loss without an answer of the receiver.
var (
	errFull    = errors.New("too many Events wait for the receiver")
	errAge     = errors.New("the Event waited too long")
	errStopped = errors.New("the operator stopped")
)

// count counts an Event with its result. err is the cause if the Event is lost.
func (p *Poster) count(r result, err error) {
	if err != nil {
		p.lose(r, 1, err)
		return
	}
	p.results.WithLabelValues(string(r)).Inc()
}

// lose counts and logs a number of lost Events.
func (p *Poster) lose(r result, lost int, cause error) {
	if lost == 0 {
		return
	}
	p.results.WithLabelValues(string(r)).Add(float64(lost))
	p.losses.add(lost, cause, p.clock.Now())
}

// logGap is the minimum time between two log lines about lost Events.
const logGap = 10 * time.Minute

// losses logs lost Events. It is safe for concurrent use.
type losses struct {
	log logr.Logger

	mu sync.Mutex
	// unlogged is the number of lost Events since the last line, and cause is the cause of the last one.
	unlogged int
	cause    error
	next     time.Time
}

// add notes lost Events, and logs them if no line was logged for logGap.
func (l *losses) add(lost int, cause error, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unlogged += lost
	l.cause = cause
	if now.Before(l.next) {
		return
	}
	l.next = now.Add(logGap)
	l.write()
}

// flush logs the lost Events that are not logged yet.
func (l *losses) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unlogged > 0 {
		l.write()
	}
}

// write logs the lost Events. The caller holds the lock.
func (l *losses) write() {
	l.log.Error(l.cause, "Events did not reach the address of --events-address", "lost", l.unlogged)
	l.unlogged = 0
}
