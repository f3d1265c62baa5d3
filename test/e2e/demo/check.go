package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// timeout is the maximum time until a check must pass.
	timeout = 30 * time.Second
	// glance is the pause between two attempts of a check.
	glance = 20 * time.Millisecond
)

// stopwatch measures the durations in the output.
type stopwatch time.Time

func startWatch() stopwatch { return stopwatch(time.Now()) }

func (s stopwatch) elapsed() time.Duration { return time.Since(time.Time(s)) }

// holds makes a check once, and returns an error if the check fails.
func (w *world) holds(ctx context.Context, what string, check func(context.Context) error) error {
	watch := startWatch()
	if err := check(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	w.held(watch.elapsed(), "%s", what)
	return nil
}

// becomes repeats a check until it passes.
func (w *world) becomes(ctx context.Context, what string, check func(context.Context) error) error {
	return w.holds(ctx, what, func(ctx context.Context) error { return eventually(ctx, check) })
}

// eventually repeats the check until it passes. After the maximum time it returns the last error.
func eventually(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not within %s", timeout))
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(glance):
		}
	}
}
