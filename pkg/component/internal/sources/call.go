package sources

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// grace is the time in which a fetch must return after its deadline.
const grace = 5 * time.Second

// DefaultTimeout is the timeout of a fetch.
const DefaultTimeout = 30 * time.Second

var (
	errNoValue = errors.New("no value yet")
	errHangs   = errors.New("an earlier fetch ignores the end of its context and has not returned yet")
)

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
		defer c.hangs.Store(false)
		var a answer
		a.err = contain(bound, func(ctx context.Context) (err error) {
			a.result, err = f(ctx)
			return err
		})
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

// contain calls f, and returns a panic as an error.
func contain(ctx context.Context, f func(context.Context) error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the function panicked: %v", cause)
			log.FromContext(ctx).Error(err, "recovered in an event source", "stack", string(debug.Stack()))
		}
	}()
	return f(ctx)
}

// spread returns a random duration around d: from d-d*share to d+d*share.
func spread(d time.Duration, share float64) time.Duration {
	return time.Duration(float64(d) * (1 - share + 2*share*rand.Float64()))
}

// Shares of a period by which times are spread. The first period is spread so that the times of many components are
// even over the period afterwards.
const firstShare, laterShare = 0.5, 0.05
