package eventsources

import (
	"context"
	"time"
)

// ended is a context that has ended. An event source that is removed before the start runs with it, and so drops what
// it holds.
type ended struct{}

var closed = func() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}()

// Deadline implements context.Context.
func (ended) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done implements context.Context.
func (ended) Done() <-chan struct{} { return closed }

// Err implements context.Context.
func (ended) Err() error { return context.Canceled }

// Value implements context.Context.
func (ended) Value(any) any { return nil }
