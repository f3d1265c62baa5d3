package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/notes"
)

const notesHelp = `Show the notes of the component NAME: the file NOTES.txt of its chart.

The command renders the notes again from the component's source, values and revision. It reads with your rights:
the component, the Secrets and ConfigMaps that it references, and the objects that the notes look up. If the
component has no notes, it prints nothing.`

func (a *app) newNotes() *cobra.Command {
	return &cobra.Command{
		Use:               "notes NAME",
		Short:             "Show the notes of a component",
		Long:              notesHelp,
		Args:              takes(0, theComponent),
		RunE:              work(func(ctx context.Context, args []string) error { return a.notes(ctx, args[0]) }),
		ValidArgsFunction: a.completer.Component,
	}
}

func (a *app) notes(ctx context.Context, name string) error {
	c, target, err := a.connect(name)
	if err != nil {
		return err
	}
	if !target.IsReadyMade() {
		return exit.BadUsage("%s: only components.%s have notes", target, v1alpha1.GroupVersion.Group)
	}
	return a.showNotes(ctx, c, target)
}

func (a *app) showNotes(ctx context.Context, c *cluster.Cluster, target cluster.Target) error {
	obj, err := c.Find(ctx, target)
	if err != nil {
		return err
	}
	about, err := a.flags.ToDiscoveryClient()
	if err != nil {
		return exit.Unasked("kubeconfig: %w", err)
	}
	said, err := notes.Of(ctx, c.Client, about, obj)
	if err != nil {
		return exit.Refuse("%s: its notes cannot be rendered: %w", target, err)
	}
	if said = strings.TrimSpace(said); said != "" {
		_, err = fmt.Fprintln(a.Out, said)
	}
	return err
}
