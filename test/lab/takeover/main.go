// Command takeover lets another operator take over live components, and back: the components of an older version by a
// newer one after an upgrade, and by the older one after a downgrade. No dependent may be written.
//
//	go run ./test/lab/takeover -from bin/old-operator
//
// Run it from the project's root, after "make cluster build". It boots its own cluster, and prints each stage. If
// something is wrong, it prints the errors and exits with 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"

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
	flag.StringVar(&s.from, "from", program.OperatorBinary, "the program of the operator that creates the components")
	flag.StringVar(&s.to, "to", program.OperatorBinary, "the program of the operator that takes them over")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "takeover: want flags only; -help lists them")
		return program.ExitBadUsage
	}
	for _, executable := range []string{s.from, s.to} {
		if _, err := os.Stat(executable); err != nil {
			return program.ExitCode(
				"takeover",
				fmt.Errorf("%w; run 'make build', and then this program from the project's root", err),
			)
		}
	}
	ctrl.SetLogger(logr.Discard()) // The messages of client libraries are not useful here.
	ctx, cancel := program.Interruptible(context.Background())
	defer cancel(nil)
	return program.ExitCode("takeover", takeOver(ctx, s))
}
