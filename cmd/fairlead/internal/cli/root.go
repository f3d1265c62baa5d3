// Package cli is the command line: commands, flags, and what becomes of errors.
package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
)

// pluginName is the file name under which kubectl finds the program, as "kubectl fairlead".
const pluginName = "kubectl-fairlead"

// completionName is the file name under which kubectl finds what completes the plugin's command line: the same program again.
const completionName = "kubectl_complete-fairlead"

// app is what all commands share.
type app struct {
	genericiooptions.IOStreams
	flags *genericclioptions.ConfigFlags
	// written is what Out writes to.
	written *written
	// busy tells what a command is at that has said nothing for a while.
	busy *progress.Busy
	// noColor says that a person wants no colours even on a terminal.
	noColor bool
}

// Run executes a command line, of which the first element is the program, and returns the exit code. A cancelled context interrupts
// the command.
func Run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	a := newApp(streams)
	root := a.newRoot(args[0])
	root.SetArgs(args[1:])
	if programOf(args[0]) == completionName {
		root.SetArgs(append([]string{cobra.ShellCompRequestCmd}, args[1:]...))
	}
	command, err := root.ExecuteContextC(ctx)
	a.busy.End()
	if full := a.written.failure(); full != nil && (err == nil || exit.IsShown(err) || errors.Is(err, full)) {
		err = &exit.Error{Code: exit.No, Err: full}
	}
	if err == nil {
		return int(exit.Yes)
	}
	failure := classify(err)
	if failure.Shown {
		return int(failure.Code)
	}
	if ctx.Err() != nil {
		failure = interrupted(failure, exit.InterruptedBy(context.Cause(ctx)))
	}
	program := root.CommandPath()
	_, _ = fmt.Fprintf(streams.ErrOut, "%s: %s\n", program, exit.Line(failure))
	if failure.Usage {
		_, _ = fmt.Fprintf(streams.ErrOut, "See '%s --help'.\n", command.CommandPath())
	}
	return int(failure.Code)
}

// failed marks an error of a command's work, as opposed to one that cobra found in the command line.
type failed struct{ error }

// Unwrap returns the error.
func (f failed) Unwrap() error { return f.error }

func classify(err error) *exit.Error {
	if known, ok := errors.AsType[*exit.Error](err); ok {
		return known
	}
	if work, ok := errors.AsType[failed](err); ok {
		return &exit.Error{Code: exit.CodeOf(work.error), Err: work.error}
	}
	return &exit.Error{Code: exit.Misuse, Usage: true, Err: err}
}

// interrupted returns the error of a command that was interrupted before it had an answer. Errors that only say that a context ended become
// one word.
func interrupted(failure *exit.Error, code exit.Code) *exit.Error {
	err := failure.Err
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	return &exit.Error{Code: code, Err: err}
}

// work makes the body of a command.
func work(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := do(cmd.Context(), args); err != nil {
			return failed{err}
		}
		return nil
	}
}

func newApp(streams genericiooptions.IOStreams) *app {
	busy := progress.NewBusy(streams.ErrOut)
	a := &app{IOStreams: streams, busy: busy, written: &written{out: streams.Out}}
	a.Out, a.ErrOut = busy.Before(a.written), busy.Before(streams.ErrOut)
	a.flags = cluster.Configure(genericclioptions.NewConfigFlags(true))
	return a
}

// programOf returns the name under which the program was started.
func programOf(argv0 string) string { return strings.TrimSuffix(filepath.Base(argv0), ".exe") }

func (a *app) newRoot(argv0 string) *cobra.Command {
	root := &cobra.Command{
		Use:           "fairlead",
		Short:         "Guide objects into a cluster in order",
		Long:          "Fairlead applies charts, kustomizations and templates as components: in waves, watched, repaired, pruned and safely deleted.",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	if name := programOf(argv0); name == pluginName || name == completionName {
		root.Use = pluginName
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl fairlead"}
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.ErrOut)
	a.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().BoolVar(&a.noColor, "no-color", false, "print no colours; there are none anyway where stdout is no terminal, or NO_COLOR is set")
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		if cmd.Name() != cobra.ShellCompRequestCmd && cmd.Name() != cobra.ShellCompNoDescRequestCmd {
			a.busy.Begin(cmd.CommandPath() + " is at it")
		}
	}
	root.AddCommand(a.commands()...)
	a.completeConnection(root)
	explainItself(root)
	return root
}

// commands are those of the program; help orders them by name.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		a.newApply(), a.newPlan(), a.newDiff(), a.newRender(), a.newExport(), a.newDelete(),
		a.newList(), a.newStatus(), a.newTree(), a.newWhy(), a.newNotes(), a.newRBAC(), a.newHistory(), a.newEvents(), a.newLogs(),
		a.newReconcile(), a.newSuspend(), a.newResume(),
		a.newScaffold(), a.newVersion(), newExitCodes(),
	}
}

// connect connects as the flags say, and finds the component that a person named.
func (a *app) connect(reference string) (*cluster.Cluster, cluster.Target, error) {
	ref, err := cluster.ParseReference(reference)
	if err != nil {
		return nil, cluster.Target{}, err
	}
	c, err := cluster.Connect(a.flags)
	if err != nil {
		return nil, cluster.Target{}, err
	}
	target, err := c.Resolve(ref)
	return c, target, err
}

func (a *app) println(line string) { _, _ = fmt.Fprintln(a.Out, line) }

// warn tells of what does not end the command.
func (a *app) warn(err error) { _, _ = fmt.Fprintf(a.ErrOut, "warning: %s\n", exit.Line(err)) }
