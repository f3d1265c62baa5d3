package external

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

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
	defer func() {
		if cause := recover(); cause != nil {
			var none R
			value, err = none, errors.New(readable(panicText(what.method, cause), what.references))
		}
	}()
	value, err = f()
	if err != nil {
		var none R
		return none, what.failure(err)
	}
	return value, nil
}

// panicText describes a panic, with the place of the code that panicked. It must be called by the deferred function.
func panicText(method string, cause any) string {
	text := method + " panicked: " + shortened(strings.ToValidUTF8(fmt.Sprint(cause), "\uFFFD"), maxPanic)
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		if frame.Function != "" && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf("%s (%s:%d)", text, filepath.Base(frame.File), frame.Line)
		}
	}
	return text
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
