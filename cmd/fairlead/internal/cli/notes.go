package cli

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/notes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

const notesHelp = `Show the notes of the component NAME: the file NOTES.txt of its chart.

The command renders the notes again from the component's source, values and revision. It reads with your rights:
the component, the Secrets and ConfigMaps that it references, the objects in spec.inputs, and the objects that the
notes look up. Give the values of polled inputs with --input NAME=FILE. If the component has no notes, the command
prints nothing.`

func (a *app) newNotes() *cobra.Command {
	var inputs []string
	cmd := &cobra.Command{
		Use:               "notes NAME",
		Short:             "Show the notes of a component",
		Long:              notesHelp,
		Args:              takes(0, theComponent),
		RunE:              work(func(ctx context.Context, args []string) error { return a.notes(ctx, args[0], inputs) }),
		ValidArgsFunction: a.completer.Component,
	}
	addInputFlag(cmd.Flags(), &inputs)
	return cmd
}

func (a *app) notes(ctx context.Context, name string, inputs []string) error {
	given, err := a.inputs(inputs)
	if err != nil {
		return err
	}
	c, target, err := a.connect(name)
	if err != nil {
		return err
	}
	if !target.IsReadyMade() {
		return exit.BadUsage("%s: only components.%s have notes", target, v1alpha1.GroupVersion.Group)
	}
	return a.showNotes(ctx, c, target, notes.Reader{Inputs: given})
}

// showNotes prints the notes of a component. The reader has what is given in place of the content of the cluster.
func (a *app) showNotes(ctx context.Context, c *cluster.Cluster, target cluster.Target, reader notes.Reader) error {
	obj, err := c.Find(ctx, target)
	if err != nil {
		return err
	}
	if reader.About, err = a.flags.ToDiscoveryClient(); err != nil {
		return exit.Unasked("kubeconfig: %w", err)
	}
	reader.Client = c.Client
	said, err := reader.Notes(ctx, obj)
	if err != nil {
		return refuseRendering(target, "its notes", err)
	}
	return printNotes(a.Out, said)
}

// hasNotes reports whether a source may have notes.
func hasNotes(archive publish.Archive) bool {
	files, err := archive.Files()
	if err != nil {
		return false
	}
	found := false
	_ = fs.WalkDir(files, ".", func(name string, _ fs.DirEntry, err error) error {
		if found = found || path.Base(name) == "NOTES.txt"; found {
			return fs.SkipAll
		}
		return err
	})
	return found
}

// printNotes prints notes. It prints nothing if there are none.
func printNotes(out io.Writer, notes string) (err error) {
	if notes = strings.TrimSpace(notes); notes != "" {
		_, err = fmt.Fprintln(out, terminal.CleanText(notes))
	}
	return err
}
