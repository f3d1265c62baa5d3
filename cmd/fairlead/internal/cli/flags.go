package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

// What arguments are, in words.
const (
	theComponent = "the component (NAME)"
	theFolder    = "the folder (DIR)"
)

// anyNumber of arguments may follow.
const anyNumber = -1

// takes checks how many arguments there are: those that must be, in words, and how many more there may be.
func takes(more int, wanted ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		missing := wanted[min(len(args), len(wanted)):]
		switch most := len(wanted) + more; {
		case len(missing) == 1:
			return exit.BadUsage("%s is missing; usage: %s", missing[0], cmd.UseLine())
		case len(missing) > 1:
			return exit.BadUsage("%s are missing; usage: %s", strings.Join(missing, " and "), cmd.UseLine())
		case more != anyNumber && len(args) > most:
			return exit.BadUsage("the argument %q is one too many; usage: %s", args[most], cmd.UseLine())
		}
		return nil
	}
}

// explainItself makes commands that come with cobra refuse what there is not.
func explainItself(root *cobra.Command) {
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

// noSuchShell is called where no command of a shell was found.
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

// addOutputFlag lets a person choose among formats.
func addOutputFlag(cmd *cobra.Command, output *string, known []show.Format) {
	cmd.Flags().StringVarP(output, "output", "o", "", show.Names(known)+"; a table by default")
	names := make([]string, 0, len(known))
	for _, format := range known {
		names = append(names, string(format))
	}
	completion.Values(cmd, "output", names...)
}

// output returns where and how a command shows what it found.
func (a *app) output(text string, known []show.Format) (show.Output, error) {
	format, err := show.ParseFormat(text, known)
	if err != nil {
		return show.Output{}, exit.BadUsage("%w", err)
	}
	return show.Output{Writer: a.Out, Format: format, Palette: a.palette()}, nil
}

// palette returns the colours of what is written to stdout.
func (a *app) palette() terminal.Palette { return terminal.NewPalette(a.Out, a.noColor) }

const defaultTimeout = 5 * time.Minute

// addWaitFlags adds --wait and --timeout.
func addWaitFlags(flags *pflag.FlagSet, wait *bool, timeout *time.Duration, usage string) {
	flags.BoolVar(wait, "wait", false, usage)
	flags.DurationVar(timeout, "timeout", defaultTimeout, "how long to wait; 0 is without limit")
}

func errNegativeTimeout(timeout time.Duration) error {
	return exit.BadUsage("--timeout %s: want a duration such as 5m, or 0 for no limit", timeout)
}
