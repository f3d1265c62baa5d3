package main

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

func TestASignalEndsTheContextAndIsItsCause(t *testing.T) {
	ctx, stop := interruptible(t.Context())
	defer stop()
	own, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the signal did not end the context")
	}
	if cause, ok := errors.AsType[exit.SignalError](context.Cause(ctx)); !ok || cause.Signal != syscall.SIGTERM {
		t.Errorf("the cause is %v", context.Cause(ctx))
	}
}
