package rendered

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/download"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/lint"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/unread"
	"github.com/fairlead-io/fairlead/internal/plural"
	"github.com/fairlead-io/fairlead/internal/validate/builtin"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const renderHelp = `Render a folder, a .tgz archive or the archive behind a URL, and print the objects as a stream of
YAML documents.

The command applies nothing and sends no request to a cluster. Look-ups of templates find no objects, and the
available APIs are the built-in APIs of Kubernetes. A folder does not say what spec.inputs has: give a value with
--input NAME=FILE, or with --input NAME:PATH=FILE if the input has a path. -f and --set override inputs.

If the source contains nothing but a folder with a chart or a kustomization, the command renders this folder, unless
--path is set. A folder with several charts is refused; --path selects one. If an object is rendered twice, the error
names the files. A warning says that the source renders nothing, or that a built-in API group has no such kind.

The output contains the objects that the operator would apply, in the order in which it would apply them, with the
annotations that set this order. The owner label and the owner annotations are left out, because they depend on
the cluster. If the type of an object is neither built in nor defined by the rendered objects, its scope is
unknown, so the command neither sets nor removes the namespace of this object.

Objects that depend on other objects belong to no wave and come last, each after the objects that it depends on.
With --graph the command prints the order as a graph instead of the objects: waves, and an arrow from each object
to an object that it waits for. Dotted arrows lead to namespaces and definitions of types, and arrows with the
text "value" to objects whose exported values the object binds or reads in a condition.

If -f names the manifest of a Component, the command renders its source, or DIR, ARCHIVE or URL in its place, with its
name, namespace and spec. Without an argument the source must be inline. Other files of -f, and flags, override the
manifest. A manifest that reads values from a Secret or a ConfigMap is refused; fairlead plan -f reads them.

With --lint the command prints probable mistakes instead of the objects, a line for each: values that nothing in the
source reads, references to a ConfigMap, a Secret, a claim, a service account or a role that may be applied later or
that is not in the set, and objects of types that nothing in the set defines. The mistakes do not change the exit
code. An object that waits for the object which refers to it is a mistake, too. These references are checked:

    pod, pod template    ConfigMap, Secret, PersistentVolumeClaim,
                         ServiceAccount, PriorityClass, RuntimeClass
    StatefulSet          also the Service in serviceName
    PersistentVolumeClaim, volumeClaimTemplates
                         StorageClass
    ServiceAccount       Secrets; those in secrets may be applied later
    RoleBinding, ClusterRoleBinding
                         Role, ClusterRole, ServiceAccount
    Ingress              IngressClass, backends, and Secrets of certificates,
                         unless an annotation for cert-manager is there
    HorizontalPodAutoscaler
                         the object in scaleTargetRef
    webhook configuration, APIService
                         Service; an earlier wave than the Service's is refused
    external             the ConfigMaps and Secrets in references

A missing object is no mistake if the reference is optional, if Kubernetes provides the object, or if it is a
PriorityClass, a RuntimeClass, an IngressClass or a StorageClass. A value is read by nothing if its name occurs
nowhere in the source, and the source renders the same objects without it. apply, plan and diff warn of such values,
too.

With --validate the command prints why an API server would refuse objects, a line for each field, and fails if there
is such a line: the syntax of names, labels and keys, sizes, and fields and values that the type does not have. The
file is known for most sources, and the line for manifests without templates. The types of Kubernetes are those of
the version that this program was built with. Other types are checked if the rendered objects define them.

With --raw the command prints the objects of the generator as helm template and kubectl kustomize do: in the order of
these programs, with hooks, and without additional annotations. The fields of an object are sorted. Comments are left
out, and so are a namespace, labels and annotations that are null. If the output of templates is invalid, the command
prints it as it is, and fails. To compare the output with that of helm template, pass the same --kube-version to both,
because their defaults differ. --sequencing cannot be combined with --raw.`

// renderOptions are the flags of render, and what it works with.
type renderOptions struct {
	*command.Console
	// namespace is the value of the flag --namespace.
	namespace *string
	source    sourceOptions
	// raw, graph, lint and validate select another output than the objects as they are applied.
	raw, lint, validate bool
	graph               string
}

// NewRender returns the command render.
func NewRender(base command.Base) *cobra.Command {
	o := &renderOptions{
		Console: base.Console, namespace: base.Clusters.Namespace(),
		source: sourceOptions{values: base.Console.ValueOptions()},
	}
	var changed func(string) bool
	cmd := &cobra.Command{
		Use:   "render [DIR|ARCHIVE|URL]",
		Short: "Print the objects that are rendered from a folder or an archive",
		Long:  renderHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && command.HasManifest(o.source.values.Files) {
				return nil
			}
			return command.Takes(0, command.TheSource)(cmd, args)
		},
		RunE: command.Work(func(ctx context.Context, args []string) error {
			if err := o.source.takeManifest(o.namespace, args, changed); err != nil {
				return err
			}
			if !changed("include-crds") {
				o.source.includeCRDs = !o.raw
			}
			return o.run(ctx, append(args, placeOfManifest)[0])
		}),
		ValidArgsFunction: completion.FolderOrArchive,
	}
	flags := cmd.Flags()
	changed = flags.Changed
	o.source.addTo(cmd)
	flags.StringArrayVar(&o.source.inputs, "input", nil, placedInputUsage)
	flags.StringVar(&o.source.name, "name", "release-name", "name of the component, and of the release")
	flags.BoolVar(&o.source.includeCRDs, "include-crds", false,
		"include the crds folders of charts; the default is true, or false with --raw")
	flags.BoolVar(&o.source.sequencing, "sequencing", false,
		"read the resource groups of charts as dependencies, like spec.helm.sequencing")
	flags.BoolVar(&o.source.isUpgrade, "is-upgrade", false, "render the second revision instead of the first")
	flags.BoolVar(&o.raw, "raw", false, "print the objects as the generator renders them")
	flags.StringVar(&o.graph, "graph", "", "print the order as a graph: mermaid or dot")
	flags.Lookup("graph").NoOptDefVal = string(render.GraphMermaid)
	flags.BoolVar(&o.lint, "lint", false, "print probable mistakes in the order and in references")
	flags.BoolVar(&o.validate, "validate", false,
		"print the fields that an API server would refuse, and fail if there are any")
	cmd.MarkFlagsMutuallyExclusive("raw", "graph", "lint", "validate")
	cmd.MarkFlagsMutuallyExclusive("raw", "sequencing")
	completion.Values(cmd, "graph", render.GraphFormats...)
	return cmd
}

func (o *renderOptions) run(ctx context.Context, place string) error {
	if o.graph != "" && !slices.Contains(render.GraphFormats, o.graph) {
		return exit.BadUsage("--graph %q: want %s", o.graph, strings.Join(render.GraphFormats, ", "))
	}
	req, err := o.source.request(*o.namespace)
	if err != nil {
		return err
	}
	if req.Source, err = o.source.open(ctx, place); err != nil {
		return err
	}
	place = download.Name(place)
	if err := o.source.load(&req, o.In); err != nil {
		return err
	}
	req.Report = func(result generator.Result) { o.Warn(errors.New(result.String())) }
	if o.raw {
		objects, err := render.Raw(ctx, req)
		if err != nil {
			return errors.Join(errNotRendered(ctx, place, o.source.path, err), errNotWritten(writeOutputOf(o.Out, err)))
		}
		warnOfNothing(place, len(objects), o.Warn)
		return errNotWritten(render.WriteRaw(o.Out, objects))
	}
	if o.validate {
		return o.printRefused(ctx, place, req)
	}
	objects, err := render.Dependents(ctx, req)
	if err != nil {
		printExcerpts(o.ErrOut, err)
		return errNotRendered(ctx, place, o.source.path, err)
	}
	warnOfNothing(place, len(objects), o.Warn)
	for _, gk := range builtin.Misspelt(objects) {
		o.Warn(fmt.Errorf("%s: no built-in type has this name; is it misspelt?", gk))
	}
	switch {
	case o.graph != "":
		return errNotWritten(render.WriteGraph(o.Out, objects, render.GraphFormat(o.graph)))
	case o.lint:
		for _, value := range unread.Values(ctx, req) {
			if _, err := fmt.Fprintln(o.Out, terminal.Clean(unread.Message(value))); err != nil {
				return errNotWritten(err)
			}
		}
		return o.printMistakes(req.Namespace, objects)
	}
	return errNotWritten(render.WriteDependents(o.Out, objects))
}

// printRefused prints the fields of the dependents that an API server would refuse. It fails if there are any.
func (o *renderOptions) printRefused(ctx context.Context, place string, req render.Request) error {
	problems, objects, err := render.Validate(ctx, req)
	if err != nil {
		return errNotRendered(ctx, place, o.source.path, err)
	}
	warnOfNothing(place, objects, o.Warn)
	refused := 0
	for _, p := range problems {
		if p.Warning {
			o.Warn(errors.New(p.String()))
			continue
		}
		refused++
		if _, err := fmt.Fprintln(o.Out, terminal.Clean(p.String())); err != nil {
			return errNotWritten(err)
		}
	}
	if refused > 0 {
		return exit.Refuse("%s: an API server would refuse %s", place, plural.Of(refused, "field"))
	}
	return nil
}

// printMistakes prints the probable mistakes of the dependents of a component in the given namespace.
func (o *renderOptions) printMistakes(namespace string, objects []manifests.Object) error {
	found, err := lint.Set(namespace, objects)
	if err != nil {
		return exit.Refuse("%w", err)
	}
	for _, f := range found {
		if _, err := fmt.Fprintln(o.Out, terminal.Clean(f.String())); err != nil {
			return errNotWritten(err)
		}
	}
	return nil
}

// warnOfNothing warns if a source renders no objects, which is rarely intended.
func warnOfNothing(place string, objects int, warn func(error)) {
	if objects == 0 {
		warn(fmt.Errorf("%s: the source renders no objects", place))
	}
}

func errNotWritten(err error) error {
	if err == nil {
		return nil
	}
	return exit.Refuse("write the objects: %w", err)
}
