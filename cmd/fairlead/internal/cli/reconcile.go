package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

const reconcileHelp = `Request a pass of the operator over the component NAME now. Repairs that were delayed,
because another client reverts them repeatedly, are made at once. Inputs and revision do not change.

With --wait the command waits until the operator has acknowledged the request and the component is Ready. The
wait times out if the operator does not support acknowledgements.`

func (a *app) newReconcile() *cobra.Command {
	var wait bool
	var timeout, unserved time.Duration
	cmd := &cobra.Command{
		Use:   "reconcile NAME | TYPE/NAME",
		Short: "Request the reconciliation of a component now",
		Long:  reconcileHelp,
		Args:  takes(0, theComponent),
		RunE: work(func(ctx context.Context, args []string) error {
			if timeout < 0 {
				return errNegativeTimeout(timeout)
			}
			if unserved < 0 {
				return errNegativeUnserved(unserved)
			}
			return a.reconcile(ctx, args[0], wait, timeout, unserved)
		}),
		ValidArgsFunction: a.completer.Component,
	}
	addWaitFlags(cmd.Flags(), &wait, &timeout,
		"wait until the operator has acknowledged the request and the component is Ready")
	addUnservedFlag(cmd.Flags(), &unserved)
	return cmd
}

func (a *app) reconcile(ctx context.Context, name string, wait bool, timeout, unserved time.Duration) error {
	found, err := a.findManaged(ctx, name)
	if err != nil {
		return err
	}
	if found.IsSuspended() {
		return exit.Refuse("%s is suspended; resume it first", found.Target)
	}
	after, request, err := found.RequestReconcile(ctx, wait)
	if err != nil {
		return err
	}
	a.println(found.Target.String() + " reconcile requested")
	if !wait {
		warnOfAbsence(ctx, a, found.Object)
		return nil
	}
	return a.withOperator(ctx, found.Object, func() error {
		return a.newWaiter(found.Cluster, found.Target, timeout).LimitUnserved(unserved).Answered(ctx, after, request)
	})
}
