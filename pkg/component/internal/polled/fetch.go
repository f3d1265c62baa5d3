package polled

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/internal/backoff"
	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
)

// grace is the time in which a fetch must return after its deadline.
const grace = 5 * time.Second

// Shares of a period by which times are spread. The first period is spread so that the times of many components are
// even over the period afterwards.
const firstShare, laterShare = 0.5, 0.05

// retries are the delays before failed fetches are repeated.
var retries = backoff.Backoff{First: time.Second, Last: time.Minute}

var errHangs = errors.New("an earlier fetch ignores the end of its context and has not returned yet")

// caller calls code of an author that may panic or hang. The zero value is ready to use.
type caller struct{ hangs atomic.Bool }

// call calls f, and returns its result, or an error if f panics, or has not returned shortly after the timeout. Until f
// returns, all later calls fail. A result that comes too late is dropped.
func call[R any](
	ctx context.Context, c *caller, timeout time.Duration, f func(context.Context) (R, error),
) (result R, err error) {
	if !c.hangs.CompareAndSwap(false, true) {
		return result, errHangs
	}
	bound, cancel := context.WithTimeout(ctx, timeout)
	type answer struct {
		result R
		err    error
	}
	done := make(chan answer, 1)
	go func() {
		defer cancel()
		var a answer
		a.err = eventsources.CallAuthor(bound, func(ctx context.Context) (err error) {
			a.result, err = f(ctx)
			return err
		})
		// The fetch has ended before its answer is told, because the answer can begin the next one.
		c.hangs.Store(false)
		done <- a
	}()
	late := time.NewTimer(timeout + grace)
	defer late.Stop()
	select {
	case a := <-done:
		if a.err != nil && errors.Is(bound.Err(), context.DeadlineExceeded) {
			a.err = fmt.Errorf("not answered within %s: %w", timeout, a.err)
		}
		return a.result, a.err
	case <-late.C:
		return result, fmt.Errorf("not answered within %s, and the fetch ignores the end of its context", timeout)
	case <-ctx.Done():
		return result, ctx.Err()
	}
}

// FetchAll returns the values of all components.
type FetchAll func(context.Context) (map[types.NamespacedName]any, error)

// fetchCells fetches the values of all components.
func fetchCells(
	ctx context.Context, c *caller, timeout time.Duration, fetch FetchAll,
) (map[types.NamespacedName]*cell, error) {
	return call(ctx, c, timeout, func(ctx context.Context) (map[types.NamespacedName]*cell, error) {
		values, err := fetch(ctx)
		if err != nil {
			return nil, err
		}
		return cellsOf(values, time.Now())
	})
}

// pause waits for a delay, which a signal ends early. It returns at once when ctx ends.
func pause(ctx context.Context, delay time.Duration, signal <-chan struct{}) {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-signal:
	}
}

// send sends a signal, unless one is waiting.
func send(signal chan<- struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}
