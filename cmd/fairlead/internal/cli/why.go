package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
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
seconds at most. It calls a function only with --call-functions, and only once, so it does not search the values
of a function. The rows "unknown" list the facts that the command could not determine.`

func (a *app) newWhy() *cobra.Command {
	var output, field string
	var callFunctions bool
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
			return a.why(ctx, args[0], field, callFunctions, out)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&field, "field", "",
		"path of a field, such as spec.containers[web].image or metadata.labels[example.com/team]")
	addCallFunctionsFlag(cmd.Flags(), &callFunctions)
	addOutputFlag(cmd, &output, show.Documents)
	return cmd
}

func (a *app) why(ctx context.Context, name, field string, callFunctions bool, out show.Output) error {
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
		if heldUp, found := a.heldUp(ctx, o); found {
			return heldUp.Print(out)
		}
		return err
	}
	about, err := a.flags.ToDiscoveryClient()
	if err != nil {
		return exit.Unasked("kubeconfig: %w", err)
	}
	explained, err := explain.Object(ctx, a.gate(o.Cluster, callFunctions), about, o, path)
	if err != nil && path == nil {
		if observed, found := a.heldUp(ctx, o); found {
			return observed.Print(out)
		}
	}
	if err != nil {
		return err
	}
	if err := explained.Print(out); err != nil {
		return err
	}
	return explained.Unreadable
}

// heldUp explains an object that is not a dependent, if a dependency holds it up, or if a component only observes it.
func (a *app) heldUp(ctx context.Context, o cluster.Object) (show.Why, bool) {
	if o.Cluster == nil {
		return show.Why{}, false
	}
	return explain.HeldUp(ctx, o.Cluster, o.Target)
}
