// Command demo shows the features of Fairlead: it boots a cluster, runs the operator under its own identity, applies,
// changes and deletes three components, and checks each step against the API server. It exits with 0 only if all checks
// pass, and leaves no process running.
//
// Run it from the project's root with "make demo", which builds the necessary programs. "make dev" runs no steps, and
// keeps the cluster and the operator running until it is interrupted. "make recording" records the demo.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/fairlead-io/fairlead/test/program"
)

// The kernel ends the operator when the thread that started the operator ends. The main thread exists as long as the
// program runs.
func init() { runtime.LockOSThread() }

func main() {
	dev := flag.Bool("dev", false, "run only the cluster and the operator, without the steps, until interrupted, also if the operator ends")
	cast := flag.String("cast", "", "record the output into this file, in the format asciicast v2")
	flag.Parse()
	os.Exit(run(*dev, *cast))
}

func run(dev bool, cast string) int {
	ctx, cancel := program.Interruptible(context.Background())
	defer cancel(nil)

	n := newNarrator(os.Stdout)
	if cast != "" {
		file, err := os.Create(cast)
		if err != nil {
			n.failed(err)
			return program.ExitFailed
		}
		defer func() { _ = file.Close() }()
		n = &narrator{out: io.MultiWriter(os.Stdout, newRecorder(file, time.Now)), styled: true}
	}
	p := play{run: demonstrate}
	if dev {
		p = play{run: idle, outlivesOperator: true}
	}
	err := stage(ctx, n, p)
	switch {
	case dev && errors.Is(err, program.ErrInterrupted):
		// An interruption is the regular end of the flag -dev.
		n.say("Ended; no process is left running.")
	case errors.Is(err, program.ErrInterrupted):
		n.say("Interrupted; no process is left running.")
		return program.ExitInterrupted
	case err != nil:
		n.failed(err)
		return program.ExitFailed
	case dev:
		n.say("Ended; no process is left running.")
	}
	return 0
}
