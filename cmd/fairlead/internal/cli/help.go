package cli

import (
	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/version"
)

const exitCodes = `The exit code tells what became of a command:

  0  yes: it is so, or it was done
  1  the answer is no: the component does not exist, is Stalled or Suspended, the time was up, or the API server refused a write;
     the reason is on stderr
  2  bad usage or input: flags and arguments, a folder or a file of values, a source that does not render (which apply leaves to the
     operator, and answers 1 with --wait), a type that the cluster does not serve
  3  the cluster could not be asked, or does not answer you: kubeconfig invalid, not reachable, not authorized, a right that you lack,
     the custom resource definition of components not installed
  130  the command was interrupted before it had an answer: by SIGINT (Ctrl-C); SIGTERM answers 143

Without --wait, commands that change something answer 0 once the API server has accepted the change. Status answers 0 where the
component is Ready, and 1 where it is not; diff answers 0 where nothing differs, and 1 where something does. All others that show
something answer 0 whatever they show, unless they could not read all of it, or not write it. What follows (--watch, logs --follow)
ends with an interruption: status answers by the last state then, the others answer 0.`

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
