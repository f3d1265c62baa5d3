// Command demo shows what Fairlead does: it boots a cluster, runs the operator under its own identity, walks through the life of three
// components, and checks each step itself against the API server. It exits with 0 only if all of that held, and leaves nothing running.
//
// Run it from the project's root by "make demo", which builds what it needs, or by "make dev", which walks through nothing and leaves
// cluster and operator running until it is interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// The exit codes besides 0.
const (
	exitFailed      = 1
	exitInterrupted = 130 // as shells have it
)

// errInterrupted ends the demo when its user, or whoever started it, ends it.
var errInterrupted = errors.New("interrupted")

// The operator is told to end with the thread that started it. The main thread lasts as long as the program.
func init() { runtime.LockOSThread() }

func main() {
	dev := flag.Bool("dev", false, "walk through nothing; run the cluster and the operator until interrupted")
	flag.Parse()
	os.Exit(run(*dev))
}

func run(dev bool) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	endOnSignal(cancel)
	go endWithParent(ctx, cancel)

	n := newNarrator(os.Stdout)
	walk := demonstrate
	if dev {
		walk = idle
	}
	err := stage(ctx, n, walk)
	switch {
	case errors.Is(err, errInterrupted):
		n.say("Interrupted; nothing is left running.")
		return exitInterrupted
	case err != nil:
		n.failed(err)
		return exitFailed
	case dev:
		n.say("Ended; nothing is left running.")
	}
	return 0
}

// endOnSignal cancels at the first signal, for an orderly end. The second one ends the program at once.
func endOnSignal(cancel context.CancelCauseFunc) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		signal.Stop(signals)
		cancel(errInterrupted)
	}()
}

// endWithParent cancels when the program that started this one is gone: "go run" passes no SIGTERM on.
func endWithParent(ctx context.Context, cancel context.CancelCauseFunc) {
	parent := os.Getppid()
	for os.Getppid() == parent {
		select {
		case <-ctx.Done():
			return
		case <-time.After(500 * time.Millisecond):
		}
	}
	cancel(fmt.Errorf("%w: process %d, which started this one, is gone", errInterrupted, parent))
}
