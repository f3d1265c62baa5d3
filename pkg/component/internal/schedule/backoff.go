package schedule

import (
	"math/rand/v2"
	"time"
)

// The first retry has a short delay. The delay doubles with each further retry, up to a limit.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = time.Minute
)

// Retry returns the delay before the next retry after a failure. A random part of up to a fifth is subtracted from the
// delay, so that components that fail at the same time are not all retried at the same time.
func (s *State) Retry() time.Duration {
	s.delay = min(lastRetry, max(firstRetry, 2*s.delay))
	return withJitter(s.delay)
}

// ResetRetry resets the back-off: the next failure is retried after the first, shortest delay.
func (s *State) ResetRetry() { s.delay = 0 }

func withJitter(delay time.Duration) time.Duration { return delay - rand.N(delay/5) }
