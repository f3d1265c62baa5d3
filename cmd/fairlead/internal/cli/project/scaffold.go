package project

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold"
)

const scaffoldHelp = `Write a project for your own operator: its API type, a generator, a main program, a Helm chart,
tests, and a Makefile.

The operator renders the chart of --chart or the kustomization of --kustomization, which the command copies into the
project from a folder, an archive or a URL. Without these flags the project contains an example. With a chart, the spec
of the component has the chart's values as fields. Their types, descriptions and limits come from values.yaml and
values.schema.json. A value that a component does not set comes from the chart's values.yaml. A null is the same as
no value. Values that a template uses as a whole, empty values and values of sub-charts have no fixed type, and a
warning gives the reason. Annotations of fairlead.io in the chart get the prefix of --operator-name. The command
warns if the chart cannot be rendered with its default values, or needs a cluster.

The command fails, with file and line, if there are no values with which the chart can be rendered: a template
or a definition is invalid, a sub-chart is missing (run helm dependency build), or the chart is a library chart.
It also fails if a value has the name of a field that --interfaces adds. Correct the chart, or leave out the
interface. If you can do neither, begin with --generator GoTemplate or Go.

The new project can be built, passes its tests, and brings its sample component to Ready. Go and make must be
on the PATH. The command overwrites files only with --force. If it fails, it writes nothing.

A development build of this program adds a replace directive to go.mod, so that the project uses the checkout
that the program was built from. A release requires the same release of Fairlead.

With --external the project contains a handler for dependents outside Kubernetes, for a system that stores the token as
a tag. For a system that only honours idempotency keys, delete the methods Find, Token and FindByToken, and set
Options.IdempotentFor. If the id is known before the creation, write Identify instead.`

// scaffoldOptions are the flags of scaffold, and what it prints to.
type scaffoldOptions struct {
	*command.Console
	answers       scaffold.Options
	generator     string
	interfaces    []string
	watched       []string
	chart         string
	kustomization string
	fairleadDir   string
	force         bool
	dryRun        bool
}

// NewScaffold returns the command scaffold with its command update.
func NewScaffold(base command.Base) *cobra.Command {
	o := &scaffoldOptions{Console: base.Console}
	cmd := &cobra.Command{
		Use:   "scaffold DIR",
		Short: "Write a project for your own operator",
		Long:  scaffoldHelp,
		Example: `  fairlead scaffold ./shop-operator --chart ./shop \
    --group apps.example.com --kind Shop \
    --operator-name shop-operator.example.com \
    --module example.com/shop-operator`,
		Args:              command.Takes(0, command.TheFolder),
		RunE:              command.Work(func(ctx context.Context, args []string) error { return o.run(ctx, args[0]) }),
		ValidArgsFunction: completion.Folder,
	}
	cmd.AddCommand(newUpdate(base))
	flags := cmd.Flags()
	flags.StringVar(&o.answers.Group, "group", "", "API group of the component, such as apps.example.com")
	flags.StringVar(&o.answers.Kind, "kind", "", "kind of the component, such as Shop")
	flags.StringVar(&o.answers.Version, "version", "v1alpha1", "version of the API")
	flags.StringVar(&o.answers.OperatorName, "operator-name", "",
		"DNS name of the operator, unique in a cluster, such as shop-operator.example.com")
	flags.StringVar(&o.answers.Module, "module", "", "path of the Go module, such as example.com/shop-operator")
	flags.StringVar(&o.generator, "generator", "",
		"generator of the dependents: "+strings.Join(scaffold.GeneratorNames,
			", ")+"; by default Helm with --chart, Kustomize with --kustomization, or else Go")
	flags.StringVar(&o.chart, "chart", "", "folder, archive or URL of a Helm chart that is copied into the project")
	command.AddSkipSchemaFlag(flags, &o.answers.SkipSchema)
	flags.StringVar(&o.kustomization, "kustomization", "",
		"folder, archive or URL of a kustomization that is copied into the project")
	flags.StringSliceVar(&o.interfaces, "interfaces", []string{string(scaffold.InterfaceSuspend)},
		"additional features of the spec: "+texts(scaffold.Interfaces))
	flags.StringVar(&o.answers.Resource, "plural", "",
		"plural name of the kind, such as shops; derived from the kind by default")
	flags.BoolVar(&o.answers.Client, "client", false, "add a package with a typed client for the kind")
	flags.StringSliceVar(&o.watched, "watch", nil,
		"other objects that components depend on, as GROUP/KIND or GROUP/VERSION/KIND, such as apps/Deployment or ConfigMap")
	flags.BoolVar(&o.answers.Webhooks, "webhooks", false, "add webhooks that validate components and set defaults")
	flags.StringVar(&o.answers.External, "external", "",
		"kind of dependents outside Kubernetes, such as Bucket: add a handler with its test")
	flags.StringVar(&o.answers.Image, "image", "", "image of the operator, without a tag")
	flags.StringVar(&o.answers.Owner, "owner", "",
		"owner of the copyright, such as Example Inc.; a user or team, such as @example/platform, is also the code owner")
	flags.StringVar(&o.answers.License, "spdx-license-headers", "",
		"begin Go files with a license in the form of SPDX: Apache-2.0, or another one after an equals sign, as in =MIT")
	flags.Lookup("spdx-license-headers").NoOptDefVal = scaffold.DefaultLicense
	flags.StringVar(&o.fairleadDir, "fairlead-dir", "",
		"checkout of Fairlead that the project requires instead of a release")
	flags.BoolVar(&o.force, "force", false, "overwrite files")
	flags.BoolVar(&o.dryRun, "dry-run", false, "list the files, and write nothing")
	completion.Values(cmd, "generator", scaffold.GeneratorNames...)
	completion.Values(cmd, "interfaces", strings.Split(texts(scaffold.Interfaces), ", ")...)
	return cmd
}

func texts[T ~string](values []T) string {
	var out []string
	for _, value := range values {
		out = append(out, string(value))
	}
	return strings.Join(out, ", ")
}

func (o *scaffoldOptions) run(ctx context.Context, dir string) error {
	req, err := o.request(ctx, dir)
	if err != nil {
		return err
	}
	project, err := scaffold.New(ctx, req)
	if err != nil {
		return exit.BadInput("%w", err)
	}
	if o.dryRun {
		o.WarnOf(project.Notes)
		return o.list(project)
	}
	err = project.Write(ctx)
	if exists, ok := errors.AsType[*scaffold.ExistsError](err); ok {
		return exit.BadInput("%w", exists)
	}
	if err != nil {
		return exit.Refuse("%w", err)
	}
	o.WarnOf(project.Notes)
	if req.Fairlead.Dir != "" {
		o.Println("go.mod replaces Fairlead with the checkout in " + req.Fairlead.Dir)
	}
	o.Println(fmt.Sprintf("%s written: %d files; next: cd %s && make test", dir, len(project.Files), dir))
	return nil
}

// request validates the flags, and returns the request.
func (o *scaffoldOptions) request(ctx context.Context, dir string) (scaffold.Request, error) {
	req := scaffold.Request{Dir: dir, Options: o.answers, Force: o.force, Report: o.Println}
	source, err := o.source()
	if err != nil {
		return req, err
	}
	req.Options.Generator, req.Options.Given = scaffold.ParseGenerator(o.generator), source != ""
	for _, name := range o.interfaces {
		req.Options.Interfaces = append(req.Options.Interfaces, scaffold.Interface(name))
	}
	for _, text := range o.watched {
		watched, err := scaffold.ParseWatched(text)
		if err != nil {
			return req, exit.BadUsage("%w", err)
		}
		req.Options.Watched = append(req.Options.Watched, watched)
	}
	if o.generator == "" {
		req.Options.Generator = o.fittingGenerator()
	}
	req.Options = req.Options.WithDefaults()
	if err := req.Options.Validate(); err != nil {
		return req, exit.BadUsage("%w", err)
	}
	if req.Fairlead, err = scaffold.FindFairlead(o.fairleadDir); err != nil {
		return req, exit.BadUsage("%w", err)
	}
	if source != "" {
		req.Source, err = command.OpenPlace(ctx, source)
	}
	return req, err
}

// source returns the place of --chart or --kustomization.
func (o *scaffoldOptions) source() (string, error) {
	named := scaffold.ParseGenerator(o.generator)
	switch {
	case o.chart != "" && o.kustomization != "":
		return "", exit.BadUsage("--chart and --kustomization exclude each other")
	case o.chart != "" && named != "" && named != scaffold.GeneratorHelm:
		return "", exit.BadUsage("--chart needs --generator Helm")
	case o.kustomization != "" && named != "" && named != scaffold.GeneratorKustomize:
		return "", exit.BadUsage("--kustomization needs --generator Kustomize")
	}
	return o.chart + o.kustomization, nil
}

func (o *scaffoldOptions) fittingGenerator() scaffold.Generator {
	switch {
	case o.chart != "":
		return scaffold.GeneratorHelm
	case o.kustomization != "":
		return scaffold.GeneratorKustomize
	}
	return scaffold.GeneratorGo
}

// list lists the files that would be written.
func (o *scaffoldOptions) list(project *scaffold.Project) error {
	all, existing, err := project.Paths()
	if err != nil {
		return exit.Refuse("%w", err)
	}
	there := map[string]bool{}
	for _, file := range existing {
		there[file] = true
	}
	for _, file := range all {
		if there[file] {
			file += " (exists)"
		}
		o.Println(file)
	}
	return nil
}
