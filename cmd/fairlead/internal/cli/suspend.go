package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/pkg/component"
)

const suspendHelp = `Suspend the component NAME: its operator leaves its dependents alone, neither repairs nor updates them, and does not look at it any more.
Deletion still works. The reason is shown by status and list, until the component is resumed.

The type of the component must have a field spec.suspend, as the ready-made operator's has.`

func (a *app) newSuspend() *cobra.Command {
	var reason string
	var wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "suspend NAME | TYPE/NAME",
		Short: "Let the operator leave a component alone",
		Long:  suspendHelp,
		Args:  takes(0, theComponent),
		RunE: work(func(ctx context.Context, args []string) error {
			if timeout < 0 {
				return errNegativeTimeout(timeout)
			}
			return a.suspend(ctx, args[0], reason, wait, timeout)
		}),
		ValidArgsFunction: a.completer.Component,
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for other people")
	addWaitFlags(cmd.Flags(), &wait, &timeout, "wait until the operator has taken note, so that it does nothing any more")
	return cmd
}

func (a *app) suspend(ctx context.Context, name, reason string, wait bool, timeout time.Duration) error {
	f, err := a.findManaged(ctx, name)
	if err != nil {
		return err
	}
	noted := f.Live.GetAnnotations()[f.Annotation(component.AnnotationSuspendReason)]
	after, word := f.Live, "is suspended already"
	if !f.IsSuspended() || noted != reason && reason != "" {
		annotations := map[string]string{f.Annotation(component.AnnotationSuspendReason): reason}
		if word = "suspended"; f.IsSuspended() {
			// Annotations alone start no pass.
			annotations[f.Annotation(component.AnnotationReconcileRequested)] = time.Now().UTC().Format(time.RFC3339Nano)
		}
		if after, err = f.Cluster.Suspend(ctx, f.Target, f.Live, true, annotations); err != nil {
			return err
		}
	}
	a.println(f.Target.String() + " " + word)
	if !wait {
		return nil
	}
	return a.newWaiter(f.Cluster, f.Target, timeout).Suspended(ctx, after)
}

const resumeHelp = `Resume the component NAME, which was suspended: its operator applies what changed meanwhile, and repairs what drifted.

With --wait the command waits until the component is Ready.`

func (a *app) newResume() *cobra.Command {
	var wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "resume NAME | TYPE/NAME",
		Short: "Let the operator take up a suspended component",
		Long:  resumeHelp,
		Args:  takes(0, theComponent),
		RunE: work(func(ctx context.Context, args []string) error {
			if timeout < 0 {
				return errNegativeTimeout(timeout)
			}
			return a.resume(ctx, args[0], wait, timeout)
		}),
		ValidArgsFunction: a.completer.Component,
	}
	addWaitFlags(cmd.Flags(), &wait, &timeout, "wait until the component is ready, and show its progress")
	return cmd
}

func (a *app) resume(ctx context.Context, name string, wait bool, timeout time.Duration) error {
	f, err := a.findManaged(ctx, name)
	if err != nil {
		return err
	}
	after, word := f.Live, "is not suspended"
	if f.IsSuspended() {
		word = "resumed"
		reason := map[string]string{f.Annotation(component.AnnotationSuspendReason): ""}
		if after, err = f.Cluster.Suspend(ctx, f.Target, f.Live, false, reason); err != nil {
			return err
		}
		if after.GetGeneration() == f.Live.GetGeneration() {
			return exit.Refuse("%s is suspended by its operator, although spec.suspend is not set; see how this type is resumed", f.Target)
		}
	}
	a.println(f.Target.String() + " " + word)
	if !wait {
		return nil
	}
	return a.newWaiter(f.Cluster, f.Target, timeout).Ready(ctx, after)
}
