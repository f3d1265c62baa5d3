// Command demo shows what Fairlead does: it boots a cluster, runs the operator under its own identity, walks through
// the life of three components, and checks each step itself against the API server. It exits with 0 only if all of that
// held, and leaves nothing running.
//
// Run it from the project's root by "make demo", which builds what it needs, or by "make dev", which walks through
// nothing and leaves cluster and operator running until it is interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"runtime"

	"github.com/fairlead-io/fairlead/test/program"
)

// The operator is told to end with the thread that started it. The main thread lasts as long as the program.
func init() { runtime.LockOSThread() }

func main() {
	dev := flag.Bool("dev", false, "walk through nothing; run the cluster and the operator until interrupted")
	flag.Parse()
	os.Exit(run(*dev))
}

func run(dev bool) int {
	ctx, cancel := program.Interruptible(context.Background())
	defer cancel(nil)

	n := newNarrator(os.Stdout)
	walk := demonstrate
	if dev {
		walk = idle
	}
	err := stage(ctx, n, walk)
	switch {
	case dev && errors.Is(err, program.ErrInterrupted):
		// That is how it is meant to end.
		n.say("Ended; nothing is left running.")
	case errors.Is(err, program.ErrInterrupted):
		n.say("Interrupted; nothing is left running.")
		return program.ExitInterrupted
	case err != nil:
		n.failed(err)
		return program.ExitFailed
	case dev:
		n.say("Ended; nothing is left running.")
	}
	return 0
}
