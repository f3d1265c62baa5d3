package schedule

import (
	"time"

	"github.com/fairlead-io/fairlead/internal/backoff"
)

// firstRetry is the delay of the first retry.
const firstRetry = 500 * time.Millisecond

// retries are the delays of retries after failures.
var retries = backoff.Backoff{First: firstRetry, Last: time.Minute}

// Retry returns the delay before the next retry after a failure. A random part of up to a fifth is subtracted from the
// delay, so that components that fail at the same time are not all retried at the same time.
func (s *State) Retry() time.Duration {
	s.delay = retries.Next(s.delay)
	return withJitter(s.delay)
}

// ResetRetry resets the back-off: the next failure is retried after the first, shortest delay.
func (s *State) ResetRetry() { s.delay = 0 }

func withJitter(delay time.Duration) time.Duration { return backoff.Sooner(delay, 0.2) }
