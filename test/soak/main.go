// Command soak lets components come, change and go at random, while others edit and delete what belongs to them, the
// operator is killed, and the API server restarts. In the end everything must be as the components want it, and the
// operator must hold no more than before.
//
//	go run ./test/soak -duration 30m
//
// It is run from the project's root, after "make cluster build"; "make soak" does that. It boots a cluster of its own,
// prints what it did, and exits with 1 and what is wrong where something is. The seed makes the same choices again,
// though not at the same moments.
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

// The operator is told to end with the thread that started it. The main thread lasts as long as the program.
func init() { runtime.LockOSThread() }

func main() {
	os.Exit(run())
}

func run() int {
	s := settings{out: os.Stdout}
	flag.DurationVar(&s.duration, "duration", 30*time.Minute, "how long to go on before the end is looked at")
	flag.Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano()), "what is chosen at random")
	flag.StringVar(&s.executable, "operator", program.OperatorBinary, "the operator's program")
	flag.Parse()
	if flag.NArg() > 0 || s.duration <= 0 {
		fmt.Fprintln(os.Stderr, "soak: want a duration above zero, and no arguments but flags; -help lists them")
		return program.ExitBadUsage
	}
	if _, err := os.Stat(s.executable); err != nil {
		return program.ExitCode("soak", fmt.Errorf("%w; run 'make build', and this from the project's root", err))
	}
	ctrl.SetLogger(logr.Discard()) // What its client libraries log is nothing for people.
	ctx, cancel := program.Interruptible(context.Background())
	defer cancel(nil)
	return program.ExitCode("soak", soak(ctx, s))
}
