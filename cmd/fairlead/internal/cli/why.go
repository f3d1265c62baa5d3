package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/explain"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

const whyHelp = `Show the origin of the object TYPE/NAME: its component, its wave and settings, the file of the
source that renders it, and the values that affect it. For an object that a controller created for a dependent,
such as a Pod, the command explains this dependent.

With --field PATH the command explains a field, such as spec.containers[web].image: its managers, whether the
manifest sets the field, and the values that affect it.

To find these values, the command changes one value after the other and renders the component again, for 15
seconds at most. It calls a function only once, so it does not search the values of a function. The rows
"unknown" list the facts that the command could not determine.`

func (a *app) newWhy() *cobra.Command {
	var output, field string
	cmd := &cobra.Command{
		Use:   "why TYPE/NAME",
		Short: "Show the origin of an object",
		Long:  whyHelp,
		Args:  takes(0, "the object (TYPE/NAME)"),
		RunE: work(func(ctx context.Context, args []string) error {
			out, err := a.output(output, show.Documents)
			if err != nil {
				return err
			}
			return a.why(ctx, args[0], field, out)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&field, "field", "",
		"path of a field, such as spec.containers[web].image or metadata.labels[example.com/team]")
	addOutputFlag(cmd, &output, show.Documents)
	return cmd
}

func (a *app) why(ctx context.Context, name, field string, out show.Output) error {
	var path changes.Path
	if field != "" {
		var err error
		if path, err = changes.ParsePath(field); err != nil {
			return exit.BadUsage("%w", err)
		}
	}
	if !strings.Contains(name, "/") {
		return exit.BadUsage("object %q: want TYPE/NAME", name)
	}
	o, err := a.find(ctx, name)
	if err != nil {
		return err
	}
	about, err := a.flags.ToDiscoveryClient()
	if err != nil {
		return exit.Unasked("kubeconfig: %w", err)
	}
	explained, err := explain.Object(ctx, about, o, path)
	if err != nil {
		return err
	}
	if err := explained.Print(out); err != nil {
		return err
	}
	return explained.Unreadable
}
