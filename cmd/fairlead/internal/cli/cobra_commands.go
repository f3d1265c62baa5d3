package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

// refuseUnknownArguments changes the commands that cobra adds (help, completion), so that they return errors for
// unknown arguments.
func refuseUnknownArguments(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Run, c.RunE = nil, helpOn
		case "completion":
			c.Use, c.DisableFlagsInUseLine = "completion SHELL", true
			c.Args, c.RunE = noSuchShell, func(*cobra.Command, []string) error { return nil }
			for _, shell := range c.Commands() {
				shell.Args = command.Takes(0)
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
