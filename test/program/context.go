// Package program holds what the programs in test share: they prepare a cluster, run the operator, and end in the same
// way.
package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// ErrInterrupted ends a program when its user, or whoever started it, ends it.
var ErrInterrupted = errors.New("interrupted")

// Interruptible returns a context that ends, with ErrInterrupted as its cause, at the first signal, for an orderly end,
// and when the program that started this one is gone: "go run" passes no SIGTERM on. A second signal ends the program
// at once.
func Interruptible(parent context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	endOnSignal(cancel)
	go endWithParent(ctx, cancel)
	return ctx, cancel
}

func endOnSignal(cancel context.CancelCauseFunc) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		signal.Stop(signals)
		cancel(ErrInterrupted)
	}()
}

func endWithParent(ctx context.Context, cancel context.CancelCauseFunc) {
	parent := os.Getppid()
	for os.Getppid() == parent {
		select {
		case <-ctx.Done():
			return
		case <-time.After(500 * time.Millisecond):
		}
	}
	cancel(fmt.Errorf("%w: process %d, which started this one, is gone", ErrInterrupted, parent))
}

// CauseOf returns why the context ended rather than what failed for that.
func CauseOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
