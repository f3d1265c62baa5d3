package external

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/componentexternals"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

const externalHelp = `Show the dependents of a component outside Kubernetes, and tell the operator whether such a
dependent was created.`

// New returns the command external with its commands.
func New(base command.Base) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "external",
		Short: "Show dependents outside Kubernetes, and resolve uncertain creates",
		Long:  externalHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exit.BadUsage("unknown command %q for %q", args[0], cmd.CommandPath())
			}
			return exit.BadUsage("the command is missing: want list or resolve")
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	cmd.AddCommand(newList(base), newResolve(base))
	return cmd
}

const externalListHelp = `Show the dependents of the component NAME outside Kubernetes: their state as the operator
reports it, and their id in the external system. The command asks no external system.

The ids are in Secrets of the component's namespace. If you may not read these Secrets, the ids are left out, and
the exit code is 3.`

// listOptions are the flags of external list, and what it works with.
type listOptions struct {
	*command.Console
	clusters command.Clusters
	output   string
}

func newList(base command.Base) *cobra.Command {
	o := &listOptions{Console: base.Console, clusters: base.Clusters}
	cmd := &cobra.Command{
		Use:   "list NAME | TYPE/NAME",
		Short: "Show the dependents of a component outside Kubernetes",
		Long:  externalListHelp,
		Args:  command.Takes(0, command.TheComponent),
		RunE: command.Work(func(ctx context.Context, args []string) error {
			out, err := o.Output(o.output, show.Formats)
			if err != nil {
				return err
			}
			return o.run(ctx, args[0], out)
		}),
		ValidArgsFunction: base.Completer.Component,
	}
	command.AddOutputFlag(cmd, &o.output, show.Formats)
	return cmd
}

func (o *listOptions) run(ctx context.Context, name string, out show.Output) error {
	component, err := o.clusters.Find(ctx, name)
	if err != nil {
		return err
	}
	found, err := componentexternals.Of(ctx, component)
	if err != nil {
		return err
	}
	if len(found.Externals) == 0 && found.Unread == nil && !out.Structured() {
		_, err := fmt.Fprintf(o.ErrOut, "%s has no externals.\n", component.Target)
		return err
	}
	if err := show.NewExternals(found).Print(out, time.Now()); err != nil {
		return err
	}
	if found.Unread != nil {
		return exit.Unasked("%s: the ids are not known: %w", component.Target, found.Unread)
	}
	return nil
}

const externalResolveHelp = `Tell the operator whether the external Kind/name of the component NAME exists, after a
creation whose result is not known. The condition Stalled of the component then has the reason CreateUncertain, and
its message contains the token of the creation. Find out in the external system whether the external exists, and give
its id with --id, or say with --absent that it does not exist. After --absent the operator creates it again. If it does
exist, it is then created twice, and the first one stays. If no external has the id of --id, nothing is created, and
the operator asks again.

The answer holds only for the creation with this token. The command waits until the operator has used the answer,
and prints the state of the external. You need the right to patch the component, and no right on Secrets. The
command writes the annotation <reconciler>/resolve-external, and removes it at the end.

The exit code is 1 if there is no such external, if it needs no answer, if the component is suspended, if no
external has the id, or if the creation is uncertain again. It is 3 if the operator does not answer in time.`

// resolveOptions are the flags of external resolve, and what it works with.
type resolveOptions struct {
	*command.Console
	clusters command.Clusters
	answer   componentexternals.Answer
	wait     command.WaitFlags
}

func newResolve(base command.Base) *cobra.Command {
	o := &resolveOptions{Console: base.Console, clusters: base.Clusters}
	cmd := &cobra.Command{
		Use:   "resolve NAME Kind/name",
		Short: "Say whether an external with an uncertain creation exists",
		Long:  externalResolveHelp,
		Args:  command.Takes(0, command.TheComponent, "the external (Kind/name)"),
		RunE: command.Work(func(ctx context.Context, args []string) error {
			if err := o.wait.Check(); err != nil {
				return err
			}
			if o.answer.Absent == (o.answer.ID != "") {
				return exit.BadUsage("want either --id ID or --absent")
			}
			return o.run(ctx, args[0], args[1])
		}),
		ValidArgsFunction: base.Completer.Component,
	}
	cmd.Flags().StringVar(&o.answer.ID, "id", "", "id of the external, which exists")
	cmd.Flags().BoolVar(&o.answer.Absent, "absent", false, "the external does not exist")
	o.wait.AddTimeout(cmd.Flags())
	return cmd
}

func (o *resolveOptions) run(ctx context.Context, name, external string) error {
	component, err := o.clusters.Find(ctx, name)
	if err != nil {
		return err
	}
	found, err := componentexternals.Of(ctx, component)
	if err != nil {
		return err
	}
	resolver, err := componentexternals.NewResolver(found, external)
	if err != nil {
		return err
	}
	said, err := resolver.Resolve(ctx, o.answer, o.wait.Timeout)
	if err != nil {
		return err
	}
	o.Println(fmt.Sprintf("%s of %s is resolved: %s", external, component.Target, said))
	return nil
}
