// Command soak creates, changes and deletes components at random, while other clients edit and delete their dependents,
// the operator is killed, and the API server is restarted. At the end all components must have the wanted state, and
// the operator must not hold more resources than before.
//
//	go run ./test/lab/soak -duration 30m
//
// Run it from the project's root, after "make cluster build"; "make soak" does both. It boots its own cluster and
// prints the operations. If something is wrong, it prints the errors and exits with 1. The same seed makes the same
// choices, but not at the same times.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead-io/fairlead/test/program"
)

// The kernel ends the operator when the thread that started the operator ends. The main thread exists as long as the
// program runs.
func init() { runtime.LockOSThread() }

func main() {
	os.Exit(run())
}

func run() int {
	s := settings{out: os.Stdout}
	flag.DurationVar(&s.duration, "duration", 30*time.Minute, "the duration of the operations before the final check")
	flag.Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano()), "the seed of the random choices")
	flag.StringVar(&s.executable, "operator", program.OperatorBinary, "the operator's program")
	flag.Parse()
	if flag.NArg() > 0 || s.duration <= 0 {
		fmt.Fprintln(os.Stderr, "soak: want a duration above zero, and flags only; -help lists the flags")
		return program.ExitBadUsage
	}
	if _, err := os.Stat(s.executable); err != nil {
		return program.ExitCode(
			"soak",
			fmt.Errorf("%w; run 'make build', and then this program from the project's root", err),
		)
	}
	ctrl.SetLogger(logr.Discard()) // The messages of client libraries are not useful here.
	ctx, cancel := program.Interruptible(context.Background())
	defer cancel(nil)
	return program.ExitCode("soak", soak(ctx, s))
}
