package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/download"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/lint"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/unread"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
	"github.com/fairlead-io/fairlead/internal/plural"
	"github.com/fairlead-io/fairlead/internal/validate/builtin"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/source"
)

const renderHelp = `Render a folder, a .tgz archive or the archive behind a URL, and print the objects as a stream of YAML documents.

The command applies nothing and sends no request to a cluster. Look-ups of templates find no objects, and the
available APIs are the built-in APIs of Kubernetes. A folder does not say what spec.inputs has: give a value with
--input NAME=FILE, or with --input NAME:PATH=FILE if the input has a path.

The output has the objects that the operator would apply, in the order in which it would apply them, with the
annotations that set this order. The owner label and the owner annotations are left out, because they depend on
the cluster. If the type of an object is neither built in nor defined by the rendered objects, its scope is
unknown, so the command neither sets nor removes the namespace of this object.

Objects that depend on other objects belong to no wave and come last, each after the objects that it depends on.
With --graph the command prints the order as a graph instead of the objects: waves, and an arrow from each object
to an object that it waits for. Dotted arrows lead to namespaces and definitions of types, and arrows with the
text "value" to objects whose exported values the object binds or reads in a condition.

If -f names the manifest of a Component, the command renders its source, or DIR, ARCHIVE or URL in its place, with its
name, namespace and spec. Without an argument the source must be inline. Other files of -f, and flags, override the
manifest.

With --lint the command prints probable mistakes instead of the objects, a line for each: values that nothing in the
source reads, references to a ConfigMap, a Secret, a claim, a service account or a role that may be applied later or
that is not in the set, and objects of types that nothing in the set defines. The mistakes do not change the exit code.

With --validate the command prints why an API server would refuse objects, a line for each field, and fails if there
is such a line: the syntax of names, labels and keys, sizes, and fields and values that the type does not have. The
file is known for most sources, and the line for manifests without templates. The types of Kubernetes are those of
the version that this program was built with. Other types are checked if the rendered objects define them.

With --raw the command prints the objects of the generator as helm template and kubectl kustomize do: in the order of
these programs, with hooks, and without additional annotations. The fields of an object are sorted. Comments are left
out, and so are a namespace, labels and annotations that are null. If the output of templates is invalid, the command
prints it as it is, and fails.`

// renderOptions are the flags of render.
type renderOptions struct {
	values      values.Sources
	name        string
	path        string
	generator   string
	kubeVersion string
	apiVersions []string
	exports     []string
	inputs      []string
	includeCRDs bool
	skipSchema  bool
	sequencing  bool
	isUpgrade   bool
	raw         bool
	graph       string
	lint        bool
	validate    bool
	// component is the manifest of the component, or nil.
	component *v1alpha1.Component
}

func (a *app) newRender() *cobra.Command {
	o := renderOptions{values: values.Sources{Stdin: a.In, Warn: a.warn}}
	var changed func(string) bool
	cmd := &cobra.Command{
		Use:   "render [DIR|ARCHIVE|URL]",
		Short: "Print the objects that are rendered from a folder or an archive",
		Long:  renderHelp,
		Args:  o.takes,
		RunE: work(func(ctx context.Context, args []string) error {
			if err := o.takeManifest(a.flags.Namespace, args, changed); err != nil {
				return err
			}
			if !changed("include-crds") {
				o.includeCRDs = !o.raw
			}
			return a.render(ctx, append(args, placeOfManifest)[0], o)
		}),
		ValidArgsFunction: completion.FolderOrArchive,
	}
	flags := cmd.Flags()
	changed = flags.Changed
	o.addRenderFlags(cmd)
	flags.StringArrayVar(&o.inputs, "input", nil, placedInputUsage)
	flags.StringVar(&o.name, "name", "release-name", "name of the component, and of the release")
	flags.BoolVar(&o.includeCRDs, "include-crds", false,
		"include the crds folders of charts; the default is true, or false with --raw")
	flags.BoolVar(&o.sequencing, "sequencing", false,
		"read the resource groups of charts as dependencies, like spec.helm.sequencing")
	flags.BoolVar(&o.isUpgrade, "is-upgrade", false, "render the second revision instead of the first")
	flags.BoolVar(&o.raw, "raw", false, "print the objects as the generator renders them")
	flags.StringVar(&o.graph, "graph", "", "print the order as a graph: mermaid or dot")
	flags.Lookup("graph").NoOptDefVal = string(render.GraphMermaid)
	flags.BoolVar(&o.lint, "lint", false, "print probable mistakes in the order and in references")
	flags.BoolVar(&o.validate, "validate", false, "print the fields that an API server would refuse, and fail if there are any")
	cmd.MarkFlagsMutuallyExclusive("raw", "graph", "lint", "validate")
	cmd.MarkFlagsMutuallyExclusive("raw", "sequencing")
	completion.Values(cmd, "graph", render.GraphFormats...)
	return cmd
}

// addRenderFlags adds the flags of all commands that render a source without a cluster. It returns the names of those
// that have no meaning for a component in the cluster.
func (o *renderOptions) addRenderFlags(cmd *cobra.Command) []string {
	flags := cmd.Flags()
	names := addValueFlags(flags, &o.values)
	addSkipSchemaFlag(flags, &o.skipSchema)
	flags.StringVar(&o.path, "path", "", "folder inside the source that is rendered")
	flags.StringVar(&o.generator, "generator", "",
		"generator of the source: "+strings.Join(generators, ", ")+"; detected by default")
	flags.StringVar(&o.kubeVersion, "kube-version", "", "version of Kubernetes to render for, such as 1.36")
	flags.StringSliceVar(&o.apiVersions, "api-versions", nil,
		"available APIs in addition to the built-in APIs, such as monitoring.coreos.com/v1")
	flags.StringArrayVar(&o.exports, "export", nil,
		"value of an export that templates ask for, NAME=VALUE, as JSON or as text; may be repeated")
	completion.Values(cmd, "generator", generators...)
	return append(names, "path", "generator", "kube-version", "api-versions")
}

// placedInputUsage describes the flag --input of a command that renders a source without a component.
const placedInputUsage = "value of an input, as NAME=FILE with JSON or YAML, at .Values.inputs.NAME, or as " +
	"NAME:PATH=FILE at another place; may be repeated; - is stdin"

func (a *app) render(ctx context.Context, place string, o renderOptions) error {
	if o.graph != "" && !slices.Contains(render.GraphFormats, o.graph) {
		return exit.BadUsage("--graph %q: want %s", o.graph, strings.Join(render.GraphFormats, ", "))
	}
	req, err := o.request(*a.flags.Namespace)
	if err != nil {
		return err
	}
	if req.Source, err = o.source(ctx, place); err != nil {
		return err
	}
	place = download.Name(place)
	if err := o.load(&req, a.In); err != nil {
		return err
	}
	req.Report = func(result generator.Result) { a.warn(errors.New(result.String())) }
	if o.raw {
		objects, err := render.Raw(ctx, req)
		if err != nil {
			return errors.Join(errNotRendered(ctx, place, o.path, err), errNotWritten(writeOutputOf(a.Out, err)))
		}
		a.warnOfNothing(place, len(objects))
		return errNotWritten(render.WriteRaw(a.Out, objects))
	}
	if o.validate {
		return a.validate(ctx, place, o.path, req)
	}
	objects, err := render.Dependents(ctx, req)
	if err != nil {
		printExcerpts(a.ErrOut, err)
		return errNotRendered(ctx, place, o.path, err)
	}
	a.warnOfNothing(place, len(objects))
	for _, gk := range builtin.Misspelt(objects) {
		a.warn(fmt.Errorf("%s: no built-in type has this name; is it misspelt?", gk))
	}
	switch {
	case o.graph != "":
		return errNotWritten(render.WriteGraph(a.Out, objects, render.GraphFormat(o.graph)))
	case o.lint:
		for _, value := range unread.Values(ctx, req) {
			if _, err := fmt.Fprintln(a.Out, terminal.Clean(unreadText(value))); err != nil {
				return errNotWritten(err)
			}
		}
		return a.lint(req.Namespace, objects)
	}
	return errNotWritten(render.WriteDependents(a.Out, objects))
}

// validate prints the fields of the dependents that an API server would refuse. It fails if there are any.
func (a *app) validate(ctx context.Context, place, path string, req render.Request) error {
	problems, objects, err := render.Validate(ctx, req)
	if err != nil {
		return errNotRendered(ctx, place, path, err)
	}
	a.warnOfNothing(place, objects)
	refused := 0
	for _, p := range problems {
		if p.Warning {
			a.warn(errors.New(p.String()))
			continue
		}
		refused++
		if _, err := fmt.Fprintln(a.Out, terminal.Clean(p.String())); err != nil {
			return errNotWritten(err)
		}
	}
	if refused > 0 {
		return exit.Refuse("%s: an API server would refuse %s", place, plural.Of(refused, "field"))
	}
	return nil
}

// lint prints the probable mistakes of the dependents of a component in the given namespace.
func (a *app) lint(namespace string, objects []manifests.Object) error {
	found, err := lint.Set(namespace, objects)
	if err != nil {
		return exit.Refuse("%w", err)
	}
	for _, f := range found {
		if _, err := fmt.Fprintln(a.Out, terminal.Clean(f.String())); err != nil {
			return errNotWritten(err)
		}
	}
	return nil
}

// warnOfNothing warns if a source renders no objects, which is rarely intended.
func (a *app) warnOfNothing(place string, objects int) {
	if objects == 0 {
		a.warn(fmt.Errorf("%s: the source renders no objects", place))
	}
}

func errNotWritten(err error) error {
	if err == nil {
		return nil
	}
	return exit.Refuse("write the objects: %w", err)
}

// request validates the flags, and returns the request of the rendering without source and values.
func (o renderOptions) request(namespace string) (render.Request, error) {
	if namespace == "" {
		namespace = "default"
	}
	req := render.Request{
		Path: o.path, Engine: generator.Engine(generatorOf(o.generator)), Namespace: namespace, Name: o.name,
		Component: o.component, Upgrade: o.isUpgrade, SkipCRDs: !o.includeCRDs, SkipSchema: o.skipSchema,
		Sequencing: o.sequencing,
	}
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return req, exit.BadUsage("--namespace %q: %s", namespace, strings.Join(problems, ", "))
	}
	if problems := validation.IsDNS1123Subdomain(o.name); len(problems) > 0 {
		return req, exit.BadUsage("--name %q: %s", o.name, strings.Join(problems, ", "))
	}
	if o.generator != "" && !slices.Contains(generators, string(req.Engine)) {
		return req, exit.BadUsage("--generator %q: want %s", o.generator, strings.Join(generators, ", "))
	}
	var err error
	if req.Capabilities, err = render.Capabilities(o.kubeVersion, o.apiVersions); err != nil {
		return req, exit.BadUsage("--kube-version %q: %w", o.kubeVersion, err)
	}
	req.Exports, err = exportsOf(o.exports)
	return req, err
}

// load adds the values and the inputs to the request of a rendering. A path of an input that is not given is the
// default of spec.inputs.
func (o renderOptions) load(req *render.Request, stdin io.Reader) error {
	var err error
	if req.Values, err = o.values.Load(); err != nil {
		return exit.BadInput("%w", err)
	}
	inputs, err := values.Inputs(o.inputs, stdin)
	if err != nil {
		return exit.BadInput("%w", err)
	}
	req.Given = map[string]any{}
	for _, input := range inputs {
		req.Given[input.Name] = input.Value
		switch {
		case o.component == nil:
			req.Inputs = append(req.Inputs, v1alpha1.Input{Name: input.Name, Path: input.Path, Poll: &v1alpha1.PollInput{}})
		case input.Path != "":
			return exit.BadUsage("--input %s:%s: the manifest has the path of this input; leave it out", input.Name, input.Path)
		}
	}
	if o.component != nil {
		req.Inputs = o.component.Spec.Inputs
	}
	component := v1alpha1.Component{Spec: v1alpha1.ComponentSpec{Inputs: req.Inputs}}
	if err := component.Validate(); err != nil {
		return exit.BadUsage("--input: %w", err)
	}
	return nil
}

// exportsOf parses values of exports, NAME=VALUE. A value that is not JSON is a text.
func exportsOf(assignments []string) (generator.Exports, error) {
	exports := map[string]any{}
	for _, assignment := range assignments {
		name, text, found := strings.Cut(assignment, "=")
		if !found || !manifests.IsExportName(name) {
			return generator.Exports{}, exit.BadUsage("--export %q: want NAME=VALUE", assignment)
		}
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			value = text
		}
		exports[name] = value
	}
	return generator.NewExports(exports), nil
}

func openSource(ctx context.Context, place, path string) (fs.FS, error) {
	tree, err := openPlace(ctx, place)
	if err != nil {
		return nil, err
	}
	place = download.Name(place)
	folder, err := source.Sub(tree, path)
	if err != nil {
		return nil, exit.BadInput("%s: --path: %w", place, err)
	}
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return nil, exit.BadInput("%s: %w", place, err)
	}
	if len(entries) == 0 {
		if path != "" {
			place = strings.TrimSuffix(place, "/") + "/" + path
		}
		return nil, exit.BadInput("%q is empty; want a chart, a kustomization or templates", place)
	}
	return tree, nil
}

// errNotRendered returns an error of a rendering as an error of bad input, or unchanged if the command was interrupted.
func errNotRendered(ctx context.Context, place, path string, err error) error {
	if ctx.Err() != nil {
		return exit.Refuse("interrupted")
	}
	return exit.BadInput("%s: %w", place, render.WithRemedy(err, place, path))
}
