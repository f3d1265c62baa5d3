package inspection

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/bundle"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

const exportHelp = `Print the component NAME and the objects that it is rendered from, for kubectl apply -f in another
cluster. These objects are the source, if it is a ConfigMap, and the ConfigMaps with values. Fields that are only
valid in this cluster are left out. If the source is the archive behind a URL, the component keeps the URL and the
digest. For a source above 190 KiB use kubectl apply --server-side -f, because client-side apply stores a copy of each
object in an annotation. Nothing deletes the ConfigMap with the source together with the component in the other
cluster. A comment in the output contains the command for it.

Secrets and the objects of spec.inputs are left out too. Their names, and those of all other objects that the
component needs, are printed on stderr. With --with-secrets the output includes the Secrets, with their values in
plain text. Files with them are readable only by you.

With -o the command writes the output to a file. If the argument is a folder or ends in a slash, it writes a file
for each object into this folder. It overwrites no file. Of a component of another operator only the component
itself is exported.`

// exportOptions are the flags of export, and what it works with.
type exportOptions struct {
	*command.Console
	clusters command.Clusters
	// place is the file or folder of the output, or empty for stdout.
	place       string
	withSecrets bool
}

// NewExport returns the command export.
func NewExport(base command.Base) *cobra.Command {
	o := &exportOptions{Console: base.Console, clusters: base.Clusters}
	cmd := &cobra.Command{
		Use:   "export NAME | TYPE/NAME",
		Short: "Print a component with its source, for another cluster",
		Long:  exportHelp,
		Args:  command.Takes(0, command.TheComponent),
		RunE: command.Work(func(ctx context.Context, args []string) error {
			if slices.Contains(show.Formats, show.Format(o.place)) {
				return exit.BadUsage("--output %q: want a file or folder, not a format; for a file of this name write ./%s",
					o.place, o.place)
			}
			return o.run(ctx, args[0])
		}),
		ValidArgsFunction: base.Completer.Component,
	}
	cmd.Flags().StringVarP(&o.place, "output", "o", "", "file or folder to write to; stdout by default")
	cmd.Flags().BoolVar(&o.withSecrets, "with-secrets", false,
		"include the Secrets that the component refers to, with their values")
	return cmd
}

func (o *exportOptions) run(ctx context.Context, name string) error {
	f, err := o.clusters.Find(ctx, name)
	if err != nil {
		return err
	}
	b, err := collect(ctx, f, o.withSecrets)
	if err != nil {
		return err
	}
	o.WarnOf(b.Missing)
	if b.Secrets {
		o.Warn(errors.New("the output contains Secrets: protect the output in the same way"))
	}
	if o.place == "" {
		return b.Stream(o.Out)
	}
	files, err := b.Save(o.place)
	for _, file := range files {
		o.Println(file)
	}
	if err != nil {
		return exit.BadInput("%w", err)
	}
	return nil
}

// collect returns the component and the objects to which it refers. For a component of another operator, it returns
// only the component, because the meaning of its fields is unknown.
func collect(ctx context.Context, f cluster.Object, withSecrets bool) (bundle.Bundle, error) {
	if f.Target.IsReadyMade() {
		return bundle.Collect(ctx, f.Cluster, f.Live, withSecrets)
	}
	if _, err := cluster.StatusIfAny(f.Target, f.Live); err != nil {
		return bundle.Bundle{}, err
	}
	return bundle.Bundle{
		Objects: []*unstructured.Unstructured{bundle.Portable(f.Live)},
		Missing: []string{"objects that " + f.Target.String() +
			" refers to are not included: only its operator can list these objects"},
	}, nil
}
