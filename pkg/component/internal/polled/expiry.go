package polled

import (
	"sync/atomic"
	"time"
)

// expiry calls a function after a time. The runtime may keep a stopped timer, with all that its function refers to,
// until the time of the timer, because it removes stopped timers only when there are many of them. So the timer of an
// expiry refers to the expiry only, and stop removes the function from it.
type expiry struct {
	timer *time.Timer
	call  atomic.Pointer[func()]
}

func newExpiry(after time.Duration, call func()) *expiry {
	e := &expiry{}
	e.call.Store(&call)
	e.timer = time.AfterFunc(after, e.fire)
	return e
}

func (e *expiry) fire() {
	if call := e.call.Swap(nil); call != nil {
		(*call)()
	}
}

// stop ends the wait. It does nothing for nil. A call that has begun goes on.
func (e *expiry) stop() {
	if e != nil {
		e.timer.Stop()
		e.call.Store(nil)
	}
}
