package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/pkg/component"
)

const treeHelp = `Show every dependent of the component NAME with its wave, readiness and message, in the order in which they are applied.

The dependents are those that the component's status records, or Secrets beside the component where they are many, and those that it waits
for; their readiness is read from the objects themselves. What is missing, or may not be read, is shown as such.`

func (a *app) newTree() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "tree NAME | TYPE/NAME",
		Short: "Show the dependents of a component",
		Long:  treeHelp,
		Args:  cobra.ExactArgs(1),
		RunE: work(func(ctx context.Context, args []string) error {
			format, err := parseOutput(output)
			if err != nil {
				return err
			}
			return a.tree(ctx, args[0], format)
		}),
		ValidArgsFunction: a.completeOne,
	}
	addOutputFlag(cmd, &output)
	return cmd
}

func (a *app) tree(ctx context.Context, name string, format show.Format) error {
	c, target, err := a.connect(name)
	if err != nil {
		return err
	}
	obj, err := c.Find(ctx, target)
	if err != nil {
		return err
	}
	status, err := cluster.Status(target, obj)
	if err != nil {
		return err
	}
	inventory, unreadable := component.Inventory(ctx, c, &status)
	nodes, err := component.Tree(ctx, c, inventory)
	if err != nil {
		return err
	}
	nodes = component.AddUnrecorded(nodes, status.Waiting)
	if err := show.NewTree(obj, status, nodes).Print(a.Out, format); err != nil {
		return err
	}
	if unreadable != nil {
		return exit.Refuse("%s: the inventory cannot be read in full: %w", target, unreadable)
	}
	return nil
}

func addOutputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "", "json or yaml; a table by default")
	complete(cmd, "output", string(show.FormatJSON), string(show.FormatYAML))
}

func parseOutput(text string) (show.Format, error) {
	format, err := show.ParseFormat(text)
	if err != nil {
		return "", exit.BadUsage("%w", err)
	}
	return format, nil
}
