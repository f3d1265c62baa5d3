package backoff

import "time"

// Backoff is a delay that doubles with each failure in a row.
type Backoff struct {
	// First is the delay after the first failure, and Last the longest delay.
	First, Last time.Duration
}

// After returns the delay after a number of failures in a row. One or less returns First.
func (b Backoff) After(failures int) time.Duration {
	delay := min(b.First, b.Last)
	for range failures - 1 {
		if delay >= b.Last-delay {
			return b.Last
		}
		delay *= 2
	}
	return delay
}

// Next returns the delay after one more failure. delay is the result of the call before; zero is that before the first
// failure.
func (b Backoff) Next(delay time.Duration) time.Duration {
	return min(b.Last, max(b.First, 2*delay))
}
