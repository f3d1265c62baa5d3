package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

// Descriptions of arguments in error messages.
const (
	TheComponent = "the component (NAME)"
	TheFolder    = "the folder (DIR)"
	TheSource    = "the folder (DIR), archive (ARCHIVE) or URL"
)

// AnyNumber is the value of Takes for commands that accept any number of optional arguments.
const AnyNumber = -1

// Takes returns a check of the number of arguments. Wanted has a description of each required argument, and more is the
// maximum number of optional arguments.
func Takes(more int, wanted ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		missing := wanted[min(len(args), len(wanted)):]
		switch most := len(wanted) + more; {
		case len(missing) == 1:
			return exit.BadUsage("%s is missing; usage: %s", missing[0], cmd.UseLine())
		case len(missing) > 1:
			return exit.BadUsage("%s are missing; usage: %s", strings.Join(missing, " and "), cmd.UseLine())
		case more != AnyNumber && len(args) > most:
			return exit.BadUsage("unexpected argument %q; usage: %s", args[most], cmd.UseLine())
		}
		return nil
	}
}
