package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/externals"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

const externalHelp = `Show the dependents of a component outside Kubernetes, and tell the operator whether such a
dependent was created.`

func (a *app) newExternal() *cobra.Command {
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
	cmd.AddCommand(a.newExternalList(), a.newExternalResolve())
	return cmd
}

const externalListHelp = `Show the dependents of the component NAME outside Kubernetes: their state as the operator
reports it, and their id in the external system. The command asks no external system.

The ids are in Secrets of the component's namespace. If you may not read these Secrets, the ids are left out, and
the exit code is 3.`

func (a *app) newExternalList() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "list NAME | TYPE/NAME",
		Short: "Show the dependents of a component outside Kubernetes",
		Long:  externalListHelp,
		Args:  takes(0, theComponent),
		RunE: work(func(ctx context.Context, args []string) error {
			out, err := a.output(output, show.Formats)
			if err != nil {
				return err
			}
			return a.externalList(ctx, args[0], out)
		}),
		ValidArgsFunction: a.completer.Component,
	}
	addOutputFlag(cmd, &output, show.Formats)
	return cmd
}

func (a *app) externalList(ctx context.Context, name string, out show.Output) error {
	o, err := a.find(ctx, name)
	if err != nil {
		return err
	}
	found, err := externals.Of(ctx, o)
	if err != nil {
		return err
	}
	if len(found.Externals) == 0 && found.Unread == nil && !out.Structured() {
		_, err := fmt.Fprintf(a.ErrOut, "%s has no externals.\n", o.Target)
		return err
	}
	if err := show.NewExternals(found).Print(out, time.Now()); err != nil {
		return err
	}
	if found.Unread != nil {
		return exit.Unasked("%s: the ids are not known: %w", o.Target, found.Unread)
	}
	return nil
}

const externalResolveHelp = `Tell the operator whether the external Kind/name of the component NAME exists, after a
creation whose result is not known. The condition Stalled of the component then has the reason CreateUncertain, and
its message has the token of the creation. Find out in the external system whether the external exists, and give
its id with --id, or say with --absent that it does not exist. After --absent the operator creates it again.

The answer holds only for the creation with this token. The command waits until the operator has used the answer,
and prints the state of the external. You need the right to patch the component.`

func (a *app) newExternalResolve() *cobra.Command {
	var answer externals.Answer
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "resolve NAME Kind/name",
		Short: "Say whether an external with an uncertain creation exists",
		Long:  externalResolveHelp,
		Args:  takes(0, theComponent, "the external (Kind/name)"),
		RunE: work(func(ctx context.Context, args []string) error {
			switch {
			case timeout < 0:
				return errNegativeTimeout(timeout)
			case answer.Absent == (answer.ID != ""):
				return exit.BadUsage("want either --id ID or --absent")
			}
			return a.externalResolve(ctx, args[0], args[1], answer, timeout)
		}),
		ValidArgsFunction: a.completer.Component,
	}
	cmd.Flags().StringVar(&answer.ID, "id", "", "id of the external, which exists")
	cmd.Flags().BoolVar(&answer.Absent, "absent", false, "the external does not exist")
	cmd.Flags().DurationVar(&timeout, "timeout", defaultTimeout, "maximum time of the wait; 0 is no limit")
	return cmd
}

func (a *app) externalResolve(
	ctx context.Context, name, external string, answer externals.Answer, timeout time.Duration,
) error {
	o, err := a.find(ctx, name)
	if err != nil {
		return err
	}
	found, err := externals.Of(ctx, o)
	if err != nil {
		return err
	}
	resolver, err := externals.NewResolver(found, external)
	if err != nil {
		return err
	}
	said, err := resolver.Resolve(ctx, answer, timeout)
	if err != nil {
		return err
	}
	a.println(fmt.Sprintf("%s of %s is resolved: %s", external, o.Target, said))
	return nil
}
