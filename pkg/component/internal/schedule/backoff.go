package schedule

import (
	"math/rand/v2"
	"time"
)

// The delays of retries: the first one is short, each later one is twice as long, up to a limit.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = time.Minute
)

// Retry returns the delay before the next retry after a failure. Up to a fifth is subtracted at random, so that
// components that fail together are not retried together.
func (s *State) Retry() time.Duration {
	s.delay = min(lastRetry, max(firstRetry, 2*s.delay))
	return withJitter(s.delay)
}

// ResetRetry makes the next retry the first one again.
func (s *State) ResetRetry() { s.delay = 0 }

func withJitter(delay time.Duration) time.Duration { return delay - rand.N(delay/5) }
