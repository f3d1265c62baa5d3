package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/egress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/preview"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
)

const planHelp = `Show the writes that the operator would make for the component NAME, and write nothing.

If -f names the manifest of a Component, the command shows what would follow an apply of this manifest, with DIR,
ARCHIVE or URL as the source, or else with the source in the manifest. The component need not exist.

With DIR, ARCHIVE or URL the command shows the writes that would follow fairlead apply with the same source and
flags. Without it, the command shows the writes that the operator has not made yet for the component in the
cluster. With --delete it shows the objects that a deletion of the component would remove, their order, and the
blockers of the deletion. For a component of the ready-made operator it also shows the rights that the deletion
needs, and that the service account of the component or the operator lacks.

Only the operator knows the values of spec.inputs that are polled: without --input NAME=FILE for each of them,
there is no plan, and the exit code is 2. Objects in spec.inputs are read with your rights. The same flag gives the
value of an object that you may not read, or shows what would follow another value.

The command applies the same rules as the operator, and reads with your rights. For a component with a function
or a kubeconfig, it reads as the identity of the component, which you must be allowed to impersonate. It calls a
function only with --call-functions, because the author of the component chose its address. It sends each write to the
API server as a dry run, to check that the API server accepts it. There is no dry run for a write that depends on an
earlier write, such as the creation of an object in a namespace that does not exist yet.

The exit code is 1 if a step cannot be made before somebody acts: the API server would refuse a write, foreign
instances or finalizers of others block the deletion, or rights for the deletion are missing.`

// planOptions are the flags of plan and diff: --delete, and the flags of apply that change the component.
type planOptions struct {
	applyOptions
	deletion bool
	// callFunctions allows calls of functions.
	callFunctions bool
	changed       func(string) bool
	// ofSpec are the names of the flags that are only allowed with a source.
	ofSpec []string
}

func (a *app) newPlanOptions() *planOptions {
	return &planOptions{applyOptions: applyOptions{values: values.Sources{Stdin: a.In, Warn: a.warn}}}
}

// takes checks the number of arguments. A manifest of -f has the name of the component.
func (o *planOptions) takes(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && slices.ContainsFunc(o.values.Files, func(file string) bool { return componentIn(file) != nil }) {
		return nil
	}
	return takes(1, theComponent)(cmd, args)
}

// addTo adds the flags that change a component.
func (o *planOptions) addTo(cmd *cobra.Command) {
	o.changed = cmd.Flags().Changed
	var added pflag.FlagSet
	o.addSpecFlags(&added)
	added.VisitAll(func(f *pflag.Flag) { o.ofSpec = append(o.ofSpec, f.Name) })
	cmd.Flags().AddFlagSet(&added)
	addInputFlag(cmd.Flags(), &o.inputs)
	addCallFunctionsFlag(cmd.Flags(), &o.callFunctions)
	completion.Values(cmd, "generator", generators...)
}

func (a *app) newPlan() *cobra.Command {
	o := a.newPlanOptions()
	var output string
	cmd := &cobra.Command{
		Use:   "plan NAME [DIR|ARCHIVE|URL]",
		Short: "Show the writes that the operator would make for a component",
		Long:  planHelp,
		Args:  o.takes,
		RunE: work(func(ctx context.Context, args []string) error {
			out, err := a.output(output, show.Documents)
			if err != nil {
				return err
			}
			if args, err = takeManifest(&o.applyOptions, a.flags.Namespace, args); err != nil {
				return err
			}
			return a.plan(ctx, args, *o, out)
		}),
		ValidArgsFunction: a.completer.ComponentAndSource,
	}
	o.addTo(cmd)
	cmd.Flags().BoolVar(&o.deletion, "delete", false, "show the effects of a deletion of the component")
	addOutputFlag(cmd, &output, show.Documents)
	return cmd
}

func (a *app) plan(ctx context.Context, args []string, o planOptions, out show.Output) error {
	p, err := a.preview(ctx, args, o)
	if err != nil {
		return err
	}
	shown := show.NewPlan(p.Component, p.Forecast, p.Deletion)
	shown.Locate(p.Forecast, p.Places.Of)
	shown.AddPermissible(p.Permissible)
	shown.MissingRights = p.Rights.Missing
	if p.Rights.Hint != "" {
		a.warn(errors.New(p.Rights.Hint))
	}
	if lost := p.Forecast.LostPhases; lost != "" {
		a.warn(fmt.Errorf("%s; the operator writes the record again when it next renders the component", lost))
	}
	if shown.Readers = p.Readers; p.ReadersUnknown != nil {
		a.warn(errReadersUnknown(p.ReadersUnknown))
	}
	if err := shown.Print(out); err != nil {
		return err
	}
	if n := len(p.Adoptions); len(args) == 2 && n > 0 && !o.adopt {
		a.warn(fmt.Errorf("fairlead apply takes over existing objects (%d) only with --adopt", n))
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
	case (len(args) == 2 || o.manifest != nil) && o.deletion:
		return exit.BadUsage(
			"--delete previews the deletion of the component in the cluster: leave the folder, archive or URL out",
		)
	case len(o.inputs) > 0 && o.deletion:
		return exit.BadUsage("--input has no effect on a deletion, which renders nothing: leave it out")
	case len(args) == 1 && o.manifest == nil && slices.ContainsFunc(o.ofSpec, o.changed):
		return exit.BadUsage("flags that change the component need a folder, an archive or a URL")
	}
	return nil
}

// preview returns the forecast of the operator's writes. The arguments are the component and, optionally, the folder or
// the archive of an apply that is assumed to come first.
func (a *app) preview(ctx context.Context, args []string, o planOptions) (preview.Result, error) {
	if err := o.check(args); err != nil {
		return preview.Result{}, err
	}
	c, target, err := a.connect(args[0])
	if err != nil {
		return preview.Result{}, err
	}
	given, err := a.inputs(o.inputs)
	if err != nil {
		return preview.Result{}, err
	}
	gate := a.gate(c, o.callFunctions)
	if len(args) == 1 && o.manifest != nil {
		return previewManifest(ctx, gate, target, o, preview.Change{Inputs: given, Warn: a.warn})
	}
	if len(args) == 1 {
		return preview.Component(ctx, gate, target, preview.Assumed{Deletion: o.deletion, Inputs: given})
	}
	if err := preview.CheckReadyMade(target); err != nil {
		return preview.Result{}, err
	}
	fields, err := o.spec(o.changed)
	if err != nil {
		return preview.Result{}, err
	}
	archive, err := loadSource(ctx, args[1], o.applyOptions, a.warn)
	if err != nil {
		return preview.Result{}, err
	}
	if err := checkApplicable(target); err != nil {
		return preview.Result{}, err
	}
	warnOfUnread(ctx, a.warn, archive, fields)
	change := preview.Change{
		Archive: archive, Manifest: o.manifest, Place: args[1], Fields: fields, Adopt: o.adoptClusters(), Inputs: given, Warn: a.warn,
	}
	return preview.Applied(ctx, gate, target, change)
}

// previewManifest returns the forecast for the component after an apply of its manifest.
func previewManifest(
	ctx context.Context, gate egress.Gate, target cluster.Target, o planOptions, change preview.Change,
) (preview.Result, error) {
	if err := preview.CheckReadyMade(target); err != nil {
		return preview.Result{}, err
	}
	fields, err := o.spec(o.changed)
	if err != nil {
		return preview.Result{}, err
	}
	change.Manifest, change.Fields, change.Adopt = o.manifest, fields, o.adoptClusters()
	return preview.Manifest(ctx, gate, target, change)
}
