package cli

import (
	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/version"
)

const exitCodes = `The exit code is the result of a command:

    0  yes: the condition is true, or the change was made
    1  no: the component does not exist, is Stalled or Suspended, the time was up, or the API server refused a
       write; the reason is on stderr
    2  bad usage or input: flags, arguments, a folder, a file of values, a source that does not render, or a
       type that the cluster does not serve
    3  the cluster could not be asked: the kubeconfig is invalid, the API server is not reachable, you are not
       authorized or lack a right, or the custom resource definition of components is not installed
  130  the command was interrupted before it had an answer: by SIGINT (Ctrl-C); SIGTERM answers 143

Without --wait, commands that change something answer 0 when the API server has accepted the change. Status
answers 0 if the component is Ready, and 1 if it is not; diff answers 0 if nothing differs, and 1 if an object
differs. The other commands that show something answer 0, unless their output is incomplete. Commands that
follow (--watch, logs --follow) end when they are interrupted: status then answers by the last status, all
other commands answer 0.`

// newExitCodes is a help topic: a command that cannot be run.
func newExitCodes() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodes}
}

func (a *app) newVersion() *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Print the version of this program",
		Args:              takes(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			a.println(version.Version)
			return nil
		},
	}
}
