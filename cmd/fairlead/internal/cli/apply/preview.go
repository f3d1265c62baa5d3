package apply

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changepreview"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/egress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

// previewOptions are the flags of the commands that compute what an operator would do: --delete, and the flags of apply
// that change the component.
type previewOptions struct {
	clusters command.Clusters
	spec     specOptions
	deletion bool
	// callFunctions allows calls of functions.
	callFunctions bool
	// ofSpec are the names of the flags that are only allowed with a source.
	ofSpec []string
}

func newPreviewOptions(base command.Base) previewOptions {
	return previewOptions{clusters: base.Clusters, spec: specOptions{values: base.Console.ValueOptions()}}
}

// takes checks the number of arguments. A manifest of -f has the name of the component.
func (o *previewOptions) takes(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && command.HasManifest(o.spec.values.Files) {
		return nil
	}
	return command.Takes(1, command.TheComponent)(cmd, args)
}

// addTo adds the flags that change a component.
func (o *previewOptions) addTo(cmd *cobra.Command) {
	o.spec.changed = cmd.Flags().Changed
	var added pflag.FlagSet
	o.spec.addTo(&added)
	added.VisitAll(func(f *pflag.Flag) { o.ofSpec = append(o.ofSpec, f.Name) })
	cmd.Flags().AddFlagSet(&added)
	command.AddInputFlag(cmd.Flags(), &o.spec.inputs)
	command.AddCallFunctionsFlag(cmd.Flags(), &o.callFunctions)
	completion.Values(cmd, "generator", command.Generators...)
}

// takeManifest moves the manifest of a component, if there is one, from the files of values to the options. It returns
// the arguments with the name of the component.
func (o *previewOptions) takeManifest(args []string) ([]string, error) {
	return o.spec.takeManifest(o.clusters.Namespace(), args)
}

// check returns an error if flags and arguments contradict each other.
func (o *previewOptions) check(args []string) error {
	switch {
	case (len(args) == 2 || o.spec.manifest != nil) && o.deletion:
		return exit.BadUsage(
			"--delete previews the deletion of the component in the cluster: leave the folder, archive or URL out",
		)
	case len(o.spec.inputs) > 0 && o.deletion:
		return exit.BadUsage("--input has no effect on a deletion, which renders nothing: leave it out")
	case len(args) == 1 && o.spec.manifest == nil && slices.ContainsFunc(o.ofSpec, o.spec.changed):
		return exit.BadUsage("flags that change the component need a folder, an archive or a URL")
	}
	return nil
}

// forecast returns the forecast of the operator's writes. The arguments are the component and, optionally, the folder
// or the archive of an apply that is assumed to come first.
func (o *previewOptions) forecast(
	ctx context.Context, args []string, console *command.Console,
) (changepreview.Result, error) {
	if err := o.check(args); err != nil {
		return changepreview.Result{}, err
	}
	c, target, err := o.clusters.ConnectTo(args[0])
	if err != nil {
		return changepreview.Result{}, err
	}
	given, err := console.Inputs(o.spec.inputs)
	if err != nil {
		return changepreview.Result{}, err
	}
	gate := command.NewGate(c, o.callFunctions, console.Tell)
	if len(args) == 1 && o.spec.manifest != nil {
		return o.forecastManifest(ctx, gate, target, changepreview.Change{Inputs: given, Warn: console.Warn})
	}
	if len(args) == 1 {
		return changepreview.Component(ctx, gate, target, changepreview.Assumed{Deletion: o.deletion, Inputs: given})
	}
	if err := changepreview.CheckReadyMade(target); err != nil {
		return changepreview.Result{}, err
	}
	fields, err := o.spec.given()
	if err != nil {
		return changepreview.Result{}, err
	}
	archive, err := o.spec.load(ctx, args[1], console.Warn)
	if err != nil {
		return changepreview.Result{}, err
	}
	if err := checkApplicable(target); err != nil {
		return changepreview.Result{}, err
	}
	warnOfUnread(ctx, console.Warn, archive, fields)
	change := changepreview.Change{
		Archive: archive, Manifest: o.spec.manifest, Place: args[1], Fields: fields, Adopt: o.spec.adoptClusters(),
		Inputs: given, Warn: console.Warn,
	}
	return changepreview.Applied(ctx, gate, target, change)
}

// forecastManifest returns the forecast for the component after an apply of its manifest.
func (o *previewOptions) forecastManifest(
	ctx context.Context, gate egress.Gate, target cluster.Target, change changepreview.Change,
) (changepreview.Result, error) {
	if err := changepreview.CheckReadyMade(target); err != nil {
		return changepreview.Result{}, err
	}
	fields, err := o.spec.given()
	if err != nil {
		return changepreview.Result{}, err
	}
	change.Manifest, change.Fields, change.Adopt = o.spec.manifest, fields, o.spec.adoptClusters()
	return changepreview.Manifest(ctx, gate, target, change)
}
