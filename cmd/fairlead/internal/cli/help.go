package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
)

const exitCodes = `The exit code is the result of a command:

    0  yes: the condition is true, or the change was made
    1  no: the component does not exist, is Stalled or Suspended, the timeout is
       over, the API server refused a write, apply refuses it before, or the
       output cannot be written, as on a full disk; the reason is on stderr
    2  bad usage or input: flags, arguments, a folder, a file of values, a
       source that does not render, or a type that the cluster does not serve
    3  no access to the cluster: the kubeconfig is invalid, the API server is
       not reachable, you are not authorized or lack a right, or the custom
       resource definition of components is not installed; also if the server
       of a URL is not reachable or busy
  130  the command was interrupted by SIGINT (Ctrl-C) before it had a result;
       the exit code after SIGTERM is 143

Without --wait, the exit code of commands that change something is 0 when the API server has accepted the
change. With --wait it is 0 if the component reaches the expected state. The exit code of status is 0 if the
component is Ready, and 1 if it is not. The exit code of diff is 0 if nothing differs, 1 if an object differs, and 2 or
3 for any error. The exit code of plan is 1 if a step cannot be made, and the exit code of test is 1 if a test failed.
The exit code of other commands that show something is 0, unless their output is incomplete. Commands that follow
changes (--watch, logs --follow) run until they are interrupted. Then the exit code of status depends on the last
status, and the exit code of the others is 0.

If you may not read some of the objects, plan, diff, tree, why and logs show all others, and the exit code is 3. A
missing right to write an object does not change the exit code of plan.

If the exit code is not 0, the reason is a single line on stderr. status and diff print the reason in their output
instead.`

// newExitCodes returns the help topic exit-codes, which is a command that cannot be run.
func newExitCodes() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodes}
}

// newOptions returns the command that prints the flags of all commands, like kubectl options.
func newOptions() *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "Print the flags that all commands have",
		Long: "Print the flags that all commands have: those for the connection to the cluster are the same as those of " +
			"kubectl.",
		Args:              command.Takes(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), cmd.Root().PersistentFlags().FlagUsagesWrapped(helpWidth))
			return err
		},
	}
}
