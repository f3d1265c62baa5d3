package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/wait"
)

// pluginName is the name of the program as a plugin of kubectl.
const pluginName = "kubectl-fairlead"

// completionName is the name of the program that kubectl runs to complete arguments of the plugin. A link with this
// name leads to the program fairlead.
const completionName = "kubectl_complete-fairlead"

// app has the state that all commands share.
type app struct {
	genericiooptions.IOStreams
	flags *genericclioptions.ConfigFlags
	// stdout is the writer to which Out writes.
	stdout *terminal.Writer
	// activity shows the current work of a command until the command prints output.
	activity *progress.Activity
	// completer completes arguments in a shell.
	completer completion.Completer
	// noColor turns colours off even on a terminal.
	noColor bool
}

// Run executes a command line, whose first element is the program, and returns the exit code. A cancelled context
// interrupts the command.
func Run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	a := newApp(streams)
	redirectLog(a.warn)
	root := a.newRoot(args[0])
	root.SetArgs(args[1:])
	if programOf(args[0]) == completionName {
		root.SetArgs(append([]string{cobra.ShellCompRequestCmd}, args[1:]...))
	}
	command, err := root.ExecuteContextC(ctx)
	a.activity.End()
	if full := a.stdout.Err(); full != nil && (err == nil || exit.IsShown(err) || errors.Is(err, full)) {
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
	_, _ = fmt.Fprintf(streams.ErrOut, "%s: %s\n", program, terminal.Clean(exit.Line(failure)))
	if failure.Usage {
		_, _ = fmt.Fprintf(streams.ErrOut, "See '%s --help'.\n", command.CommandPath())
	}
	return int(failure.Code)
}

// failed wraps the errors of a command's work. Errors that are not wrapped come from cobra, and mean that the command
// line is invalid.
type failed struct{ error }

// Unwrap returns the wrapped error.
func (f failed) Unwrap() error { return f.error }

// classify returns the exit code and the kind of an error, with its whole message.
func classify(err error) *exit.Error {
	if known, ok := errors.AsType[*exit.Error](err); ok {
		return &exit.Error{Code: known.Code, Usage: known.Usage, Shown: known.Shown, Err: err}
	}
	if work, ok := errors.AsType[failed](err); ok {
		return &exit.Error{Code: exit.CodeOf(work.error), Err: work.error}
	}
	return &exit.Error{Code: exit.Misuse, Usage: true, Err: err}
}

// interrupted returns the error of a command that was interrupted before it had a result. If the error only reports the
// end of a context, its message becomes the word "interrupted".
func interrupted(failure *exit.Error, code exit.Code) *exit.Error {
	err := failure.Err
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	return &exit.Error{Code: code, Err: err}
}

// work returns the function RunE of a command from the function that does its work.
func work(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := do(cmd.Context(), args); err != nil {
			return failed{err}
		}
		return nil
	}
}

func newApp(streams genericiooptions.IOStreams) *app {
	activity := progress.NewActivity(streams.ErrOut)
	a := &app{IOStreams: streams, activity: activity, stdout: terminal.NewWriter(streams.Out)}
	a.Out, a.ErrOut = activity.Before(a.stdout), activity.Before(streams.ErrOut)
	a.flags = cluster.Configure(genericclioptions.NewConfigFlags(true))
	a.completer = completion.New(a.flags)
	return a
}

// programOf returns the name under which the program was started.
func programOf(argv0 string) string { return strings.TrimSuffix(filepath.Base(argv0), ".exe") }

func (a *app) newRoot(argv0 string) *cobra.Command {
	root := &cobra.Command{
		Use:   "fairlead",
		Short: "Apply charts, kustomizations and templates in order",
		Long: "Fairlead applies charts, kustomizations and templates as components: in waves, with readiness, repair, " +
			"pruning\n" +
			"and safe deletion.",
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
	root.PersistentFlags().BoolVar(&a.noColor, "no-color", false,
		"print no colours; without a terminal, or with NO_COLOR, this is the default")
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		if cmd.Name() != cobra.ShellCompRequestCmd && cmd.Name() != cobra.ShellCompNoDescRequestCmd {
			a.activity.Begin("running " + cmd.CommandPath())
		}
	}
	root.AddCommand(a.commands()...)
	a.completer.Connection(root)
	refuseUnknownArguments(root)
	addHelp(root)
	return root
}

// commands returns all commands, in any order, because the help groups them and sorts them by name.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		a.newApply(), a.newPlan(), a.newDiff(), a.newRender(), a.newExport(), a.newDelete(),
		a.newList(), a.newStatus(), a.newTree(), a.newWhy(), a.newNotes(), a.newRBAC(), a.newHistory(), a.newEvents(),
		a.newLogs(), a.newTest(),
		a.newReconcile(), a.newSuspend(), a.newResume(), a.newExternal(),
		a.newScaffold(), a.newVersion(), newOptions(), newExitCodes(),
	}
}

// connect connects to the cluster of the flags, and resolves the type of the component in the argument.
func (a *app) connect(reference string) (*cluster.Cluster, cluster.Target, error) {
	return cluster.ConnectTo(a.flags, reference)
}

// find connects to the cluster and returns the object in the argument. It returns an error if the object does not
// exist.
func (a *app) find(ctx context.Context, reference string) (cluster.Object, error) {
	c, target, err := a.connect(reference)
	if err != nil {
		return cluster.Object{}, err
	}
	obj, err := c.Find(ctx, target)
	return cluster.Object{Cluster: c, Target: target, Live: obj}, err
}

// findManaged returns the component in the argument, and the name of its reconciler.
func (a *app) findManaged(ctx context.Context, reference string) (cluster.Managed, error) {
	o, err := a.find(ctx, reference)
	if err != nil {
		return cluster.Managed{}, err
	}
	return o.Managed()
}

func (a *app) newWaiter(c *cluster.Cluster, target cluster.Target, timeout time.Duration) *wait.Waiter {
	return wait.New(c, target, timeout, a.Out)
}

func (a *app) println(line string) { _, _ = fmt.Fprintln(a.Out, terminal.Clean(line)) }

// warn prints an error after which the command continues.
func (a *app) warn(err error) {
	_, _ = fmt.Fprintf(a.ErrOut, "warning: %s\n", terminal.Clean(exit.Line(err)))
}
