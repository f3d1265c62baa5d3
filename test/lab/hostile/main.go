// Command hostile runs the operator beside a tenant who attacks it: random hostile components come, change and go, and
// another tenant's component is changed every few seconds. The operator must never restart, the other tenant's
// component must become Ready each time, nothing may appear outside the attacker's namespace, and at the end the
// operator's memory must return and the hostile components must go, or say why they wait.
//
//	go run ./test/lab/hostile -duration 30m
//
// Run it from the project's root, after "make cluster build"; "make hostile" does both. It boots its own cluster. Each
// hostile component has a seed, which is printed; -print shows the component of a seed. The same seeds make the same
// components, but not at the same times. The program needs Linux.
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
	printed := uint64(0)
	flag.DurationVar(&s.duration, "duration", 30*time.Minute, "the duration of the attacks")
	flag.Uint64Var(&s.seed, "seed", uint64(time.Now().Unix()), "the seed of the first hostile component; the next has the next seed")
	flag.StringVar(&s.only, "only", "", "use only the attacks whose names begin with this text")
	flag.StringVar(&s.executable, "operator", program.OperatorBinary, "the operator's program")
	flag.Uint64Var(&printed, "print", 0, "print the component of a seed, and end")
	flag.Parse()
	if flag.NArg() > 0 || s.duration <= 0 {
		fmt.Fprintln(os.Stderr, "hostile: want a duration above zero, and flags only; -help lists the flags")
		return program.ExitBadUsage
	}
	if printed > 0 {
		return program.ExitCode("hostile", printAttack(s, printed))
	}
	if _, err := os.Stat(s.executable); err != nil {
		return program.ExitCode(
			"hostile",
			fmt.Errorf("%w; run 'make build', and then this program from the project's root", err),
		)
	}
	ctrl.SetLogger(logr.Discard()) // The messages of client libraries are not useful here.
	ctx, cancel := program.Interruptible(context.Background())
	defer cancel(nil)
	return program.ExitCode("hostile", hostile(ctx, s))
}
