package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// patience is how long something may take to become true.
	patience = 30 * time.Second
	// glance is the pause between two looks.
	glance = 20 * time.Millisecond
)

// stopwatch measures what is told.
type stopwatch time.Time

func startWatch() stopwatch { return stopwatch(time.Now()) }

func (s stopwatch) elapsed() time.Duration { return time.Since(time.Time(s)) }

// holds checks what must be true right now.
func (w *world) holds(ctx context.Context, what string, check func(context.Context) error) error {
	watch := startWatch()
	if err := check(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	w.held(watch.elapsed(), "%s", what)
	return nil
}

// becomes checks what must become true.
func (w *world) becomes(ctx context.Context, what string, check func(context.Context) error) error {
	return w.holds(ctx, what, func(ctx context.Context) error { return eventually(ctx, check) })
}

// eventually returns when the check passes; its last error if it does not in time.
func eventually(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %s", patience))
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
