package command

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
)

// Base is what commands are built from.
type Base struct {
	Console *Console
	// Clusters connects to the cluster of the flags.
	Clusters Clusters
	// Completer completes arguments in a shell.
	Completer completion.Completer
}

// New returns the base of all commands of a command line.
func New(streams genericiooptions.IOStreams) Base {
	flags := cluster.Configure(genericclioptions.NewConfigFlags(true))
	return Base{Console: NewConsole(streams), Clusters: Clusters{flags}, Completer: completion.New(flags)}
}

// WorkError is an error of the work of a command. Other errors come from cobra, and mean that the command line is
// invalid.
type WorkError struct{ Err error }

// Error implements error.
func (e WorkError) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e WorkError) Unwrap() error { return e.Err }

// Work returns the function RunE of a command from the function that does its work.
func Work(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := do(cmd.Context(), args); err != nil {
			return WorkError{err}
		}
		return nil
	}
}
