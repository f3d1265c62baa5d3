package external

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/authorcode"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

const (
	// grace is the time after the end of the context within which a call may still return its result.
	grace = time.Second
	// abandonedRetry is the delay before the next call for an external whose last call does not return.
	abandonedRetry = 10 * time.Second
	// maxPanic is the maximum size of the value of a panic in an error, in bytes.
	maxPanic = 256
)

// calls runs the methods of a Kind. It remembers the calls that did not return when their context ended, so that no
// other call for the same external runs beside them.
type calls struct {
	mu        sync.Mutex
	abandoned map[string]string
}

// call describes one call.
type call struct {
	// method is the name of the method, for errors.
	method string
	// external identifies the external.
	external string
	// means is the error that the method may return with a meaning: ErrNotFound, ErrExists or nil.
	means error
	// references are the credentials, which errors must not contain.
	references generator.References
}

// run calls f and returns its result. A panic is an error. If f does not return soon after ctx ended, the result is an
// error, and calls for the same external are refused until f returns.
func run[R any](ctx context.Context, c *calls, what call, f func(context.Context) (R, error)) (R, error) {
	var none R
	if err := ctx.Err(); err != nil {
		return none, RefusedFor(fmt.Errorf("%s was not called: %w", what.method, err), 0)
	}
	if method, ok := c.underWay(what.external); ok {
		return none, RefusedFor(fmt.Errorf("%s was not called: an earlier call of %s does not return, although its "+
			"time-out is over; the method must honour its context", what.method, method), abandonedRetry)
	}
	type result struct {
		value R
		err   error
	}
	done := make(chan result, 1)
	go func() {
		r := result{err: fmt.Errorf("%s ended its goroutine", what.method)}
		defer func() { done <- r }()
		r.value, r.err = contained(what, func() (R, error) { return f(ctx) })
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-late.C:
	}
	c.set(what.external, what.method)
	go func() {
		<-done
		c.set(what.external, "")
	}()
	return none, fmt.Errorf("%s did not return at its time-out: %w", what.method, ctx.Err())
}

func (c *calls) underWay(external string) (method string, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	method, found = c.abandoned[external]
	return method, found
}

// set notes the abandoned call of an external; an empty method removes it.
func (c *calls) set(external, method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if method == "" {
		delete(c.abandoned, external)
		return
	}
	if c.abandoned == nil {
		c.abandoned = map[string]string{}
	}
	c.abandoned[external] = method
}

// contained calls f and converts a panic and the error.
func contained[R any](what call, f func() (R, error)) (value R, err error) {
	p := authorcode.Run(what.method, func() {
		if value, err = f(); err != nil {
			err = what.failure(err)
		}
	})
	if p != nil {
		cause := shortened(strings.ToValidUTF8(fmt.Sprint(p.Value), "\uFFFD"), maxPanic)
		text := fmt.Sprintf("%s panicked: %s (%s)", what.method, cause, p.Place)
		err = errors.New(readable(text, what.references))
	}
	if err != nil {
		var none R
		return none, err
	}
	return value, nil
}

// failure returns the error of a method in a form that has a readable text, and no other meaning than a caller may rely
// on. It may panic as the error does.
func (c call) failure(err error) error {
	said := &failure{text: readable(err.Error(), c.references)}
	for _, meaning := range []error{c.means, context.DeadlineExceeded, context.Canceled} {
		if meaning != nil && errors.Is(err, meaning) {
			said.meaning = meaning
			break
		}
	}
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return &RefusedError{Cause: said, Temporary: refused.Temporary, After: max(0, refused.After)}
	}
	return said
}

// failure is an error of a call.
type failure struct {
	text    string
	meaning error
}

// Error implements error.
func (f *failure) Error() string { return f.text }

// Unwrap returns the meaning of the error, which may be nil.
func (f *failure) Unwrap() error { return f.meaning }
