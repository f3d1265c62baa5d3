package lifecycle

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

const suspendHelp = `Suspend the component NAME: its operator does not reconcile it, and neither updates nor repairs
its dependents. The component can still be deleted. The commands status and list show the reason until the component
is resumed.

The type of the component must have the field spec.suspend, like the type of the ready-made operator. Otherwise the
command writes nothing and fails.`

// suspendOptions are the flags of suspend, and what it works with.
type suspendOptions struct {
	*command.Console
	clusters command.Clusters
	reason   string
	wait     command.WaitFlags
}

// NewSuspend returns the command suspend.
func NewSuspend(base command.Base) *cobra.Command {
	o := &suspendOptions{Console: base.Console, clusters: base.Clusters}
	cmd := &cobra.Command{
		Use:   "suspend NAME | TYPE/NAME",
		Short: "Suspend the reconciliation of a component",
		Long:  suspendHelp,
		Args:  command.Takes(0, command.TheComponent),
		RunE: command.Work(func(ctx context.Context, args []string) error {
			if err := o.wait.Check(); err != nil {
				return err
			}
			return o.run(ctx, args[0])
		}),
		ValidArgsFunction: base.Completer.Component,
	}
	cmd.Flags().StringVar(&o.reason, "reason", "", "reason, shown by status and list")
	o.wait.AddTo(cmd.Flags(), "wait until the operator has acknowledged the suspension")
	return cmd
}

func (o *suspendOptions) run(ctx context.Context, name string) error {
	f, err := o.clusters.FindManaged(ctx, name)
	if err != nil {
		return err
	}
	noted := f.Live.GetAnnotations()[f.Annotation(metav1alpha1.AnnotationSuspendReason)]
	after, word := f.Live, "is suspended already"
	if !f.IsSuspended() || noted != o.reason && o.reason != "" {
		annotations := map[string]string{f.Annotation(metav1alpha1.AnnotationSuspendReason): o.reason}
		if word = "suspended"; f.IsSuspended() {
			// A changed reason alone starts no pass, so the status would not show it.
			annotations[f.Annotation(metav1alpha1.AnnotationReconcileRequested)] = time.Now().UTC().Format(time.RFC3339Nano)
		}
		if after, err = f.Cluster.Suspend(ctx, f.Target, f.Live, true, annotations); err != nil {
			return err
		}
	}
	o.Println(f.Target.String() + " " + word)
	if !o.wait.Wait {
		return nil
	}
	return command.WithOperator(ctx, f.Object, o.Warn, func() error {
		return o.wait.Waiter(f.Cluster, f.Target, o.Out).Suspended(ctx, after)
	})
}

const resumeHelp = `Resume the suspended component NAME: its operator applies the changes since the suspension,
and repairs dependents that drifted.

With --wait the command waits until the component is Ready.`

// resumeOptions are the flags of resume, and what it works with.
type resumeOptions struct {
	*command.Console
	clusters command.Clusters
	wait     command.WaitFlags
}

// NewResume returns the command resume.
func NewResume(base command.Base) *cobra.Command {
	o := &resumeOptions{Console: base.Console, clusters: base.Clusters}
	cmd := &cobra.Command{
		Use:   "resume NAME | TYPE/NAME",
		Short: "Resume the reconciliation of a component",
		Long:  resumeHelp,
		Args:  command.Takes(0, command.TheComponent),
		RunE: command.Work(func(ctx context.Context, args []string) error {
			if err := o.wait.Check(); err != nil {
				return err
			}
			return o.run(ctx, args[0])
		}),
		ValidArgsFunction: base.Completer.Component,
	}
	o.wait.AddTo(cmd.Flags(), "wait until the component is Ready, and show its progress")
	o.wait.AddUnserved(cmd.Flags())
	return cmd
}

func (o *resumeOptions) run(ctx context.Context, name string) error {
	f, err := o.clusters.FindManaged(ctx, name)
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
	o.Println(f.Target.String() + " " + word)
	if !o.wait.Wait {
		command.WarnOfAbsence(ctx, f.Object, o.Warn)
		return nil
	}
	return command.WithOperator(ctx, f.Object, o.Warn, func() error {
		return o.wait.Waiter(f.Cluster, f.Target, o.Out).Ready(ctx, after)
	})
}
