package charts

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/notes"
)

const notesHelp = `Show the notes of the component NAME: the file NOTES.txt of its chart.

The command renders the notes again from the component's source, values and revision. It reads with your rights: the
component, the Secrets and ConfigMaps that it references, the objects in spec.inputs, and the objects that the notes
look up. Give the values of polled inputs with --input NAME=FILE. Values of Secrets are shown only where the notes
print them. If the component has a kubeconfig, look-ups in its target cluster find nothing. If the component has no
notes, the command prints nothing.`

// notesOptions are the flags of notes, and what it works with.
type notesOptions struct {
	*command.Console
	clusters command.Clusters
	inputs   []string
}

// NewNotes returns the command notes.
func NewNotes(base command.Base) *cobra.Command {
	o := &notesOptions{Console: base.Console, clusters: base.Clusters}
	cmd := &cobra.Command{
		Use:               "notes NAME",
		Short:             "Show the notes of a component",
		Long:              notesHelp,
		Args:              command.Takes(0, command.TheComponent),
		RunE:              command.Work(func(ctx context.Context, args []string) error { return o.run(ctx, args[0]) }),
		ValidArgsFunction: base.Completer.Component,
	}
	command.AddInputFlag(cmd.Flags(), &o.inputs)
	return cmd
}

func (o *notesOptions) run(ctx context.Context, name string) error {
	given, err := o.Inputs(o.inputs)
	if err != nil {
		return err
	}
	c, target, err := o.clusters.ConnectTo(name)
	if err != nil {
		return err
	}
	if !target.IsReadyMade() {
		return exit.BadUsage("%s: only components.%s have notes", target, v1alpha1.GroupVersion.Group)
	}
	obj, err := c.Find(ctx, target)
	if err != nil {
		return err
	}
	about, err := o.clusters.Discovery()
	if err != nil {
		return err
	}
	text, err := notes.Reader{Client: c.Client, About: about, Inputs: given}.Notes(ctx, obj)
	if err != nil {
		return command.RefuseRendering(target, "its notes", err)
	}
	return notes.Print(o.Out, text)
}
