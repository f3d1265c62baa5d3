package command

import (
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/wait"
)

// DefaultTimeout is the default of --timeout, of all commands.
const DefaultTimeout = 5 * time.Minute

// defaultUnserved is the default of --unserved-timeout. It is long enough for a program that defines its types when it
// starts.
const defaultUnserved = 30 * time.Second

// WaitFlags are the flags of a command that can wait for a state.
type WaitFlags struct {
	Wait bool
	// Timeout is the maximum time of the wait. 0 is no limit.
	Timeout time.Duration
	// Unserved limits the wait for nothing but types that nobody serves. 0 is no limit.
	Unserved time.Duration
}

// AddTo adds --wait, with this usage, and --timeout.
func (w *WaitFlags) AddTo(flags *pflag.FlagSet, usage string) {
	flags.BoolVar(&w.Wait, "wait", false, usage)
	w.AddTimeout(flags)
}

// AddTimeout adds --timeout to the flags of a command that always waits.
func (w *WaitFlags) AddTimeout(flags *pflag.FlagSet) {
	flags.DurationVar(&w.Timeout, "timeout", DefaultTimeout, "maximum time of the wait; 0 is no limit")
}

// AddUnserved adds --unserved-timeout to the flags of a command that waits until a component is Ready.
func (w *WaitFlags) AddUnserved(flags *pflag.FlagSet) {
	flags.DurationVar(&w.Unserved, "unserved-timeout", defaultUnserved,
		"how long --wait waits if only types are missing that nothing serves or defines; 0 is no limit")
}

// Check returns an error if a time is negative.
func (w WaitFlags) Check() error {
	if w.Timeout < 0 {
		return exit.BadUsage("--timeout %s: want a duration such as 5m, or 0 for no limit", w.Timeout)
	}
	if w.Unserved < 0 {
		return exit.BadUsage("--unserved-timeout %s: want a duration such as 30s, or 0 for no limit", w.Unserved)
	}
	return nil
}

// Waiter returns the waiter for a state of a component. It shows the progress on out.
func (w WaitFlags) Waiter(c *cluster.Cluster, target cluster.Target, out io.Writer) *wait.Waiter {
	return wait.New(c, target, w.Timeout, out).LimitUnserved(w.Unserved)
}
