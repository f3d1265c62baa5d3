package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/preview"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
)

const planHelp = `Show what the operator would do with the component NAME, and write nothing.

With DIR the command shows what would be done after fairlead apply with the same folder and flags. Without DIR
it shows what the operator has not done yet for the component in the cluster. With --delete it shows which
objects the deletion of the component would remove, in which order, and what blocks the deletion.

The command decides by the same rules as the operator, and reads with your rights. A dry run asks the API
server whether it would accept each write, unless the write depends on an earlier one, such as an object in a
namespace that does not exist yet.

The exit code is 1 if a step cannot be made before somebody acts: the API server would refuse a write, or foreign
instances or finalizers of others block the deletion.`

// planOptions are the flags of plan and diff: those of apply that change a component, and --delete.
type planOptions struct {
	applyOptions
	deletion bool
	changed  func(string) bool
	// ofSpec are the names of the flags that need a folder.
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
	completion.Values(cmd, "generator", generators...)
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
		ValidArgsFunction: a.completer.ComponentAndFolder,
	}
	o.addTo(cmd)
	cmd.Flags().BoolVar(&o.deletion, "delete", false, "show what a deletion of the component would do")
	addOutputFlag(cmd, &output, show.Documents)
	return cmd
}

func (a *app) plan(ctx context.Context, args []string, o planOptions, out show.Output) error {
	p, err := a.preview(ctx, args, o)
	if err != nil {
		return err
	}
	shown := show.NewPlan(p.Component, p.Forecast, p.Deletion)
	if err := shown.Print(out); err != nil {
		return err
	}
	if err := p.Unreadable(); err != nil {
		return err
	}
	if shown.IsHindered() {
		return exit.RefuseShown("%s: a step of the plan cannot be made", p.Target)
	}
	return nil
}

// check returns an error if flags and arguments contradict each other.
func (o planOptions) check(args []string) error {
	switch {
	case len(args) == 2 && o.deletion:
		return exit.BadUsage("--delete previews the deletion of the component in the cluster: leave DIR out")
	case len(args) == 1 && slices.ContainsFunc(o.ofSpec, o.changed):
		return exit.BadUsage("flags that change the component need DIR")
	}
	return nil
}

// preview returns what the operator would do. The arguments are a component and, if a folder is to be applied first,
// that folder.
func (a *app) preview(ctx context.Context, args []string, o planOptions) (preview.Result, error) {
	if err := o.check(args); err != nil {
		return preview.Result{}, err
	}
	c, target, err := a.connect(args[0])
	if err != nil {
		return preview.Result{}, err
	}
	if len(args) == 1 {
		return preview.Component(ctx, c, target, o.deletion)
	}
	if err := preview.CheckReadyMade(target); err != nil {
		return preview.Result{}, err
	}
	fields, err := o.spec(o.changed)
	if err != nil {
		return preview.Result{}, err
	}
	archive, err := publish.Pack(args[1])
	if err != nil {
		return preview.Result{}, err
	}
	if err := checkApplicable(target); err != nil {
		return preview.Result{}, err
	}
	return preview.Applied(ctx, c, target, preview.Change{Archive: archive, Fields: fields, Warn: a.warn})
}
