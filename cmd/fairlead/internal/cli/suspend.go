package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

const suspendHelp = `Suspend the component NAME: its operator does not reconcile it, and neither updates nor
repairs its dependents. The component can still be deleted. The commands status and list show the reason until
the component is resumed.

The type of the component must have the field spec.suspend, like the type of the ready-made operator.`

func (a *app) newSuspend() *cobra.Command {
	var reason string
	var wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "suspend NAME | TYPE/NAME",
		Short: "Suspend the reconciliation of a component",
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
	cmd.Flags().StringVar(&reason, "reason", "", "reason, shown by status and list")
	addWaitFlags(cmd.Flags(), &wait, &timeout, "wait until the operator has acknowledged the suspension")
	return cmd
}

func (a *app) suspend(ctx context.Context, name, reason string, wait bool, timeout time.Duration) error {
	f, err := a.findManaged(ctx, name)
	if err != nil {
		return err
	}
	noted := f.Live.GetAnnotations()[f.Annotation(metav1alpha1.AnnotationSuspendReason)]
	after, word := f.Live, "is suspended already"
	if !f.IsSuspended() || noted != reason && reason != "" {
		annotations := map[string]string{f.Annotation(metav1alpha1.AnnotationSuspendReason): reason}
		if word = "suspended"; f.IsSuspended() {
			// A changed reason alone starts no pass, so the status would not show it.
			annotations[f.Annotation(metav1alpha1.AnnotationReconcileRequested)] = time.Now().UTC().Format(time.RFC3339Nano)
		}
		if after, err = f.Cluster.Suspend(ctx, f.Target, f.Live, true, annotations); err != nil {
			return err
		}
	}
	a.println(f.Target.String() + " " + word)
	if !wait {
		return nil
	}
	return a.withOperator(ctx, f.Object, func() error {
		return a.newWaiter(f.Cluster, f.Target, timeout).Suspended(ctx, after)
	})
}

const resumeHelp = `Resume the suspended component NAME: its operator applies the changes since the suspension,
and repairs dependents that drifted.

With --wait the command waits until the component is Ready.`

func (a *app) newResume() *cobra.Command {
	var wait bool
	var timeout, unserved time.Duration
	cmd := &cobra.Command{
		Use:   "resume NAME | TYPE/NAME",
		Short: "Resume the reconciliation of a component",
		Long:  resumeHelp,
		Args:  takes(0, theComponent),
		RunE: work(func(ctx context.Context, args []string) error {
			if timeout < 0 {
				return errNegativeTimeout(timeout)
			}
			if unserved < 0 {
				return errNegativeUnserved(unserved)
			}
			return a.resume(ctx, args[0], wait, timeout, unserved)
		}),
		ValidArgsFunction: a.completer.Component,
	}
	addWaitFlags(cmd.Flags(), &wait, &timeout, "wait until the component is Ready, and show its progress")
	addUnservedFlag(cmd.Flags(), &unserved)
	return cmd
}

func (a *app) resume(ctx context.Context, name string, wait bool, timeout, unserved time.Duration) error {
	f, err := a.findManaged(ctx, name)
	if err != nil {
		return err
	}
	after, word := f.Live, "is not suspended"
	if f.IsSuspended() {
		word = "resumed"
		reason := map[string]string{f.Annotation(metav1alpha1.AnnotationSuspendReason): ""}
		if after, err = f.Cluster.Suspend(ctx, f.Target, f.Live, false, reason); err != nil {
			return err
		}
		if after.GetGeneration() == f.Live.GetGeneration() {
			return exit.Refuse("%s is suspended by its operator, although spec.suspend is not set; see the documentation of "+
				"this type", f.Target)
		}
	}
	a.println(f.Target.String() + " " + word)
	if !wait {
		warnOfAbsence(ctx, a, f.Object)
		return nil
	}
	return a.withOperator(ctx, f.Object, func() error {
		return a.newWaiter(f.Cluster, f.Target, timeout).LimitUnserved(unserved).Ready(ctx, after)
	})
}
