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

// ErrInterrupted is the reason if the user, or the parent process, ends a program.
var ErrInterrupted = errors.New("interrupted")

// Interruptible returns a context that ends with ErrInterrupted as its cause, at the first signal or when the parent
// process has ended, so that the program can end in order. The parent is checked because "go run" forwards no SIGTERM.
// A second signal ends the program at once.
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
	cancel(fmt.Errorf("%w: the parent process %d has ended", ErrInterrupted, parent))
}

// CauseOf returns the cause of the end of the context. It returns err if the context has not ended.
func CauseOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
