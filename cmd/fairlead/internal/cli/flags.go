package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/egress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
	"github.com/fairlead-io/fairlead/internal/operator"
)

// Descriptions of arguments in error messages.
const (
	theComponent = "the component (NAME)"
	theFolder    = "the folder (DIR)"
	theSource    = "the folder (DIR), archive (ARCHIVE) or URL"
)

// anyNumber is the value of takes for commands that accept any number of optional arguments.
const anyNumber = -1

// takes returns a check of the number of arguments. Wanted has a description of each required argument, and more is the
// maximum number of optional arguments.
func takes(more int, wanted ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		missing := wanted[min(len(args), len(wanted)):]
		switch most := len(wanted) + more; {
		case len(missing) == 1:
			return exit.BadUsage("%s is missing; usage: %s", missing[0], cmd.UseLine())
		case len(missing) > 1:
			return exit.BadUsage("%s are missing; usage: %s", strings.Join(missing, " and "), cmd.UseLine())
		case more != anyNumber && len(args) > most:
			return exit.BadUsage("unexpected argument %q; usage: %s", args[most], cmd.UseLine())
		}
		return nil
	}
}

// refuseUnknownArguments changes the commands that cobra adds (help, completion), so that they return errors for
// unknown arguments.
func refuseUnknownArguments(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		switch command.Name() {
		case "help":
			command.Run, command.RunE = nil, helpOn
		case "completion":
			command.Use, command.DisableFlagsInUseLine = "completion SHELL", true
			command.Args, command.RunE = noSuchShell, func(*cobra.Command, []string) error { return nil }
			for _, shell := range command.Commands() {
				shell.Args = takes(0)
			}
		}
	}
}

func helpOn(cmd *cobra.Command, args []string) error {
	command, rest, err := cmd.Root().Find(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return exit.BadUsage("unknown command %q for %q", rest[0], command.CommandPath())
	}
	command.InitDefaultHelpFlag()
	return command.Help()
}

// noSuchShell returns the error of the command completion if its argument is missing or names an unknown shell.
func noSuchShell(cmd *cobra.Command, args []string) error {
	var shells []string
	for _, shell := range cmd.Commands() {
		shells = append(shells, shell.Name())
	}
	if len(args) == 0 {
		return exit.BadUsage("the shell is missing: want %s", strings.Join(shells, ", "))
	}
	return exit.BadUsage("unknown shell %q: want %s", args[0], strings.Join(shells, ", "))
}

// addOutputFlag adds --output with the known formats.
func addOutputFlag(cmd *cobra.Command, output *string, known []show.Format) {
	cmd.Flags().StringVarP(output, "output", "o", "", show.Names(known)+"; a table by default")
	names := make([]string, 0, len(known))
	for _, format := range known {
		names = append(names, string(format))
	}
	completion.Values(cmd, "output", names...)
}

// output returns the writer and the format of a command's results.
func (a *app) output(text string, known []show.Format) (show.Output, error) {
	format, err := show.ParseFormat(text, known)
	if err != nil {
		return show.Output{}, exit.BadUsage("%w", err)
	}
	return show.Output{Writer: a.Out, Format: format, Palette: a.palette()}, nil
}

// palette returns the colours for stdout.
func (a *app) palette() terminal.Palette { return terminal.NewPalette(a.Out, a.noColor) }

const defaultTimeout = 5 * time.Minute

// addWaitFlags adds --wait and --timeout.
func addWaitFlags(flags *pflag.FlagSet, wait *bool, timeout *time.Duration, usage string) {
	flags.BoolVar(wait, "wait", false, usage)
	flags.DurationVar(timeout, "timeout", defaultTimeout, "maximum time of the wait; 0 is no limit")
}

// defaultUnserved is long enough for a program that defines its types when it starts.
const defaultUnserved = 30 * time.Second

// addUnservedFlag adds --unserved-timeout to the flags of a command that waits until a component is Ready.
func addUnservedFlag(flags *pflag.FlagSet, limit *time.Duration) {
	flags.DurationVar(limit, "unserved-timeout", defaultUnserved,
		"how long --wait waits if only types are missing that nothing serves or defines; 0 is no limit")
}

// addCallFunctionsFlag adds --call-functions to the flags of a command that renders components of a cluster.
func addCallFunctionsFlag(flags *pflag.FlagSet, call *bool) {
	flags.BoolVar(call, egress.FlagCallFunctions, false,
		"call the function of the component, at the address in the component, as the identity of the component")
}

// addInputFlag adds --input to the flags of a command that renders a component of a cluster.
func addInputFlag(flags *pflag.FlagSet, inputs *[]string) {
	flags.StringArrayVar(inputs, "input", nil,
		"value of an input in spec.inputs, as NAME=FILE with JSON or YAML; may be repeated; - is stdin")
}

// inputs returns the values of --input by the names of the inputs.
func (a *app) inputs(assignments []string) (map[string]any, error) {
	inputs, err := values.Inputs(assignments, a.In)
	if err != nil {
		return nil, exit.BadInput("%w", err)
	}
	given, err := values.ByName(inputs)
	if err != nil {
		return nil, exit.BadUsage("%w", err)
	}
	return given, nil
}

// refuseRendering returns the error if a part of a component, such as its notes, cannot be rendered.
func refuseRendering(target cluster.Target, part string, err error) error {
	if exit.IsBadUsage(err) {
		return err
	}
	err = render.WithRemedy(err, "", "")
	if errors.Is(err, operator.ErrNotPolled) && !exit.IsUnasked(err) {
		return exit.BadInput("%s: %s cannot be rendered: %w", target, part, err)
	}
	return exit.Refuse("%s: %s cannot be rendered: %w", target, part, err)
}

// gate returns the gate of a command. callFunctions is the value of --call-functions.
func (a *app) gate(c *cluster.Cluster, callFunctions bool) egress.Gate {
	return egress.Gate{Cluster: c, CallFunctions: callFunctions, Tell: func(line string) {
		_, _ = fmt.Fprintln(a.ErrOut, terminal.Clean(line))
	}}
}

func errNegativeUnserved(limit time.Duration) error {
	return exit.BadUsage("--unserved-timeout %s: want a duration such as 30s, or 0 for no limit", limit)
}

func errNegativeTimeout(timeout time.Duration) error {
	return exit.BadUsage("--timeout %s: want a duration such as 5m, or 0 for no limit", timeout)
}
