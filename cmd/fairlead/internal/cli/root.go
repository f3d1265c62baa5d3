package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/apply"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/charts"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/deletion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/external"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/inspection"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/lifecycle"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/project"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/rendered"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

// pluginName is the name of the program as a plugin of kubectl.
const pluginName = "kubectl-fairlead"

// completionName is the name of the program that kubectl runs to complete arguments of the plugin. A link with this
// name leads to the program fairlead.
const completionName = "kubectl_complete-fairlead"

// Run executes a command line, whose first element is the program, and returns the exit code. A cancelled context
// interrupts the command.
func Run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	base := command.New(streams)
	redirectLog(base.Console.Warn)
	root := newRoot(base, args[0])
	root.SetArgs(args[1:])
	if programOf(args[0]) == completionName {
		root.SetArgs(append([]string{cobra.ShellCompRequestCmd}, args[1:]...))
	}
	called, err := root.ExecuteContextC(ctx)
	base.Console.End()
	if full := base.Console.Lost(); full != nil && (err == nil || exit.IsShown(err) || errors.Is(err, full)) {
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
		_, _ = fmt.Fprintf(streams.ErrOut, "See '%s --help'.\n", called.CommandPath())
	}
	return int(failure.Code)
}

// classify returns an error with its exit code, and with its whole message. Errors of cobra are misuse, and refer to
// --help.
func classify(err error) *exit.Error {
	if known, ok := errors.AsType[*exit.Error](err); ok {
		return &exit.Error{Code: known.Code, Usage: known.Usage, Shown: known.Shown, Err: err}
	}
	if work, ok := errors.AsType[command.WorkError](err); ok {
		return &exit.Error{Code: exit.CodeOf(work.Err), Err: work.Err}
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

// programOf returns the name under which the program was started.
func programOf(argv0 string) string { return strings.TrimSuffix(filepath.Base(argv0), ".exe") }

func newRoot(base command.Base, argv0 string) *cobra.Command {
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
	root.SetIn(base.Console.In)
	root.SetOut(base.Console.Out)
	root.SetErr(base.Console.ErrOut)
	base.Clusters.AddFlags(root.PersistentFlags())
	base.Console.AddFlags(root.PersistentFlags())
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		if cmd.Name() != cobra.ShellCompRequestCmd && cmd.Name() != cobra.ShellCompNoDescRequestCmd {
			base.Console.Begin("running " + cmd.CommandPath())
		}
	}
	root.AddCommand(commands(base)...)
	base.Completer.Connection(root)
	refuseUnknownArguments(root)
	addHelp(root)
	return root
}

// commands returns all commands, in any order, because the help groups them and sorts them by name.
func commands(base command.Base) []*cobra.Command {
	return []*cobra.Command{
		apply.NewApply(base), apply.NewPlan(base), apply.NewDiff(base), deletion.New(base),
		rendered.NewRender(base), rendered.NewRBAC(base), charts.NewNotes(base), charts.NewTest(base),
		inspection.NewList(base), inspection.NewStatus(base), inspection.NewTree(base), inspection.NewWhy(base),
		inspection.NewHistory(base), inspection.NewEvents(base), inspection.NewLogs(base), inspection.NewExport(base),
		lifecycle.NewReconcile(base), lifecycle.NewSuspend(base), lifecycle.NewResume(base), external.New(base),
		project.NewScaffold(base), newVersion(base), newOptions(), newExitCodes(), newOutput(),
	}
}
