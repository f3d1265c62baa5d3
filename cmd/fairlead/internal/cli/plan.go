package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
)

const planHelp = `Show what the operator would do with the component NAME, and write nothing.

With DIR it is what would be done after fairlead apply with the same folder and flags; without, what is left to do for the component as it
is in the cluster. With --delete it is what its deletion would remove, in which order, and what stands in the way.

The rules are the operator's own; what is read is read with your rights. The API server is asked by dry runs whether it would accept each write,
unless that builds on another one, such as an object in a namespace that does not exist yet.`

// planOptions are the flags of plan and diff: those of apply that change a component, and whether it is to be deleted.
type planOptions struct {
	applyOptions
	deletion bool
	changed  func(string) bool
	// ofSpec are the names of the flags that go with a folder.
	ofSpec []string
}

func (a *app) newPlanOptions() *planOptions {
	return &planOptions{applyOptions: applyOptions{values: values.Sources{Stdin: a.In, Warn: a.warn}}}
}

// addTo adds the flags that change a component.
func (o *planOptions) addTo(cmd *cobra.Command) {
	o.changed = cmd.Flags().Changed
	var added pflag.FlagSet
	o.addSpecFlags(&added)
	added.VisitAll(func(f *pflag.Flag) { o.ofSpec = append(o.ofSpec, f.Name) })
	cmd.Flags().AddFlagSet(&added)
	complete(cmd, "generator", generators...)
}

func (a *app) newPlan() *cobra.Command {
	o := a.newPlanOptions()
	var output string
	cmd := &cobra.Command{
		Use:   "plan NAME [DIR]",
		Short: "Show what the operator would do with a component",
		Long:  planHelp,
		Args:  takes(1, theComponent),
		RunE: work(func(ctx context.Context, args []string) error {
			out, err := a.output(output, show.Documents)
			if err != nil {
				return err
			}
			return a.plan(ctx, args, *o, out)
		}),
		ValidArgsFunction: a.completeApply,
	}
	o.addTo(cmd)
	cmd.Flags().BoolVar(&o.deletion, "delete", false, "show what a deletion of the component would do")
	addOutputFlag(cmd, &output, show.Documents)
	return cmd
}

func (a *app) plan(ctx context.Context, args []string, o planOptions, out show.Output) error {
	p, err := a.foresee(ctx, args, o)
	if err != nil {
		return err
	}
	if err := show.NewPlan(p.component, p.forecast, p.deletion).Print(out); err != nil {
		return err
	}
	return p.unread()
}

// check finds contradictions in the command line.
func (o planOptions) check(args []string) error {
	switch {
	case len(args) == 2 && o.deletion:
		return exit.BadUsage("--delete is about the component as it is in the cluster, without DIR")
	case len(args) == 1 && slices.ContainsFunc(o.ofSpec, o.changed):
		return exit.BadUsage("flags that change a component go with DIR")
	}
	return nil
}

var errNoPreview = errors.New("its operator renders it, and only that knows how, so that nobody else can tell what it would do; " +
	"fairlead tree shows its dependents as they are, and fairlead plan --delete what its deletion would do")
