package lifecycle

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

const reconcileHelp = `Request a pass of the operator over the component NAME now. Repairs that were delayed, because
another client reverts them repeatedly, are made at once. Externals are observed at once, and a difference starts
another pass. Inputs and revision do not change. The request is the annotation <reconciler>/reconcile-requested-at.

With --wait the command waits until the operator has acknowledged the request and the component is Ready. The
wait times out if the operator does not support acknowledgements, and fails for a suspended component.`

// reconcileOptions are the flags of reconcile, and what it works with.
type reconcileOptions struct {
	*command.Console
	clusters command.Clusters
	wait     command.WaitFlags
}

// NewReconcile returns the command reconcile.
func NewReconcile(base command.Base) *cobra.Command {
	o := &reconcileOptions{Console: base.Console, clusters: base.Clusters}
	cmd := &cobra.Command{
		Use:   "reconcile NAME | TYPE/NAME",
		Short: "Request the reconciliation of a component now",
		Long:  reconcileHelp,
		Args:  command.Takes(0, command.TheComponent),
		RunE: command.Work(func(ctx context.Context, args []string) error {
			if err := o.wait.Check(); err != nil {
				return err
			}
			return o.run(ctx, args[0])
		}),
		ValidArgsFunction: base.Completer.Component,
	}
	o.wait.AddTo(cmd.Flags(), "wait until the operator has acknowledged the request and the component is Ready")
	o.wait.AddUnserved(cmd.Flags())
	return cmd
}

func (o *reconcileOptions) run(ctx context.Context, name string) error {
	found, err := o.clusters.FindManaged(ctx, name)
	if err != nil {
		return err
	}
	if found.IsSuspended() {
		return exit.Refuse("%s is suspended; resume it first", found.Target)
	}
	after, request, err := found.RequestReconcile(ctx, o.wait.Wait)
	if err != nil {
		return err
	}
	o.Println(found.Target.String() + " reconcile requested")
	if !o.wait.Wait {
		command.WarnOfAbsence(ctx, found.Object, o.Warn)
		return nil
	}
	return command.WithOperator(ctx, found.Object, o.Warn, func() error {
		return o.wait.Waiter(found.Cluster, found.Target, o.Out).Answered(ctx, after, request)
	})
}
