package rendered

import (
	"context"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/download"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// sourceOptions are the flags of a command that renders a source without a cluster.
type sourceOptions struct {
	values      values.Options
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
	// component is the manifest of the component, or nil.
	component *v1alpha1.Component
}

// addTo adds the flags of all commands that render a source without a cluster. It returns the names of those
// that have no meaning for a component in the cluster.
func (o *sourceOptions) addTo(cmd *cobra.Command) []string {
	flags := cmd.Flags()
	names := command.AddValueFlags(flags, &o.values)
	command.AddSkipSchemaFlag(flags, &o.skipSchema)
	flags.StringVar(&o.path, "path", "", "folder inside the source that is rendered")
	flags.StringVar(&o.generator, "generator", "",
		"generator of the source: "+strings.Join(command.Generators, ", ")+"; detected by default")
	flags.StringVar(&o.kubeVersion, "kube-version", "", "version of Kubernetes to render for, such as 1.36")
	flags.StringSliceVar(&o.apiVersions, "api-versions", nil,
		"available APIs in addition to the built-in APIs, such as monitoring.coreos.com/v1")
	flags.StringArrayVar(&o.exports, "export", nil,
		"value of an export that templates ask for, NAME=VALUE, as JSON or as text; may be repeated")
	completion.Values(cmd, "generator", command.Generators...)
	return append(names, "path", "generator", "kube-version", "api-versions")
}

// placedInputUsage describes the flag --input of a command that renders a source without a component.
const placedInputUsage = "value of an input, as NAME=FILE with JSON or YAML, at .Values.inputs.NAME, or as " +
	"NAME:PATH=FILE at another place; may be repeated; - is stdin"

// request validates the flags, and returns the request of the rendering without source and values.
func (o *sourceOptions) request(namespace string) (render.Request, error) {
	if namespace == "" {
		namespace = "default"
	}
	req := render.Request{
		Path: o.path, Engine: generator.Engine(command.GeneratorOf(o.generator)), Namespace: namespace, Name: o.name,
		Component: o.component, Upgrade: o.isUpgrade, SkipCRDs: !o.includeCRDs, SkipSchema: o.skipSchema,
		Sequencing: o.sequencing,
	}
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return req, exit.BadUsage("--namespace %q: %s", namespace, strings.Join(problems, ", "))
	}
	if problems := validation.IsDNS1123Subdomain(o.name); len(problems) > 0 {
		return req, exit.BadUsage("--name %q: %s", o.name, strings.Join(problems, ", "))
	}
	if o.generator != "" && !slices.Contains(command.Generators, string(req.Engine)) {
		return req, exit.BadUsage("--generator %q: want %s", o.generator, strings.Join(command.Generators, ", "))
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
func (o *sourceOptions) load(req *render.Request, stdin io.Reader) error {
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
		if !found || !settingtext.IsExportName(name) {
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
	tree, err := command.OpenPlace(ctx, place)
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

// open returns the source at a place, or the inline source of the manifest if the place is empty.
func (o *sourceOptions) open(ctx context.Context, place string) (fs.FS, error) {
	if place != placeOfManifest {
		return openSource(ctx, place, o.path)
	}
	files := map[string][]byte{}
	for name, content := range o.component.Spec.Source.Inline.Files {
		files[name] = []byte(content)
	}
	tree, err := source.FromFiles(files)
	if err != nil {
		return nil, exit.BadInput("the manifest: %s: %w", placeOfManifest, err)
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
