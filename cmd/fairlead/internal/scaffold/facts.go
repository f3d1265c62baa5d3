package scaffold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold/operatorrules"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold/valuetypes"
)

// exampleSpec is the spec of the sample component if the project has an example source. It sets all fields.
const exampleSpec = `spec:
  replicas: 1
  image: docker.io/nginxinc/nginx-unprivileged:1.29-alpine
  message: Hello
`

// exampleKinds are the kinds of the dependents in the example of a generator in Go.
var exampleKinds = []schema.GroupVersionKind{
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Service"},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
}

// facts contains the data with which the templates are rendered.
type facts struct {
	Options
	Fairlead Fairlead
	// ValuesCode contains the Go types of a chart's values.
	ValuesCode string
	// SampleSpec is the spec of the sample, as YAML.
	SampleSpec string
	// demanded has examples of the values without a default that templates demand.
	demanded map[string]any
	// Rights contains the rules for dependents, as YAML.
	Rights string
}

// Tools returns the versions of the tools that build the project.
func (facts) Tools() any { return tools }

// Intervals returns the duration fields of the spec with their descriptions.
func (facts) Intervals() map[string]string {
	return map[string]string{
		"Interval":      "Interval is the interval of the resync; the default is 10h, zero turns it off.",
		"RetryInterval": "RetryInterval is the time until the next attempt after a persistent error; the default is 1m.",
		"Timeout": "Timeout is the time after which a component that is not Ready is Stalled with reason Timeout; " +
			"the default is 10m.",
	}
}

// GeneratorStory returns a sentence about the source that the operator renders.
func (f facts) GeneratorStory() string {
	switch f.Generator {
	case GeneratorHelm:
		return "It renders the Helm chart in `" + sourceFolder(f.Options) +
			"`. The spec of a component has the chart's values."
	case GeneratorKustomize:
		return "It builds the kustomization in `" + sourceFolder(f.Options) + "`."
	case GeneratorGoTemplate:
		return "It renders the Go templates in `" + sourceFolder(f.Options) + "` with the spec of a component."
	case GeneratorGo:
		return "It creates the dependents of a component with Go code, in `internal/generator`."
	}
	return ""
}

// learn derives the facts from the source that the generator renders. It also returns warnings for a person.
func learn(ctx context.Context, o Options, fairlead Fairlead, files []File) (facts, []string, error) {
	f := facts{Options: o, Fairlead: fairlead, SampleSpec: exampleSpec}
	if o.Generator == GeneratorGo {
		rights, err := operatorrules.Format(operatorrules.RulesFor(o.rbacFeatures(), nil, exampleKinds))
		f.Rights = rights
		return f, nil, err
	}
	if !o.Given {
		var err error
		if files, err = renderExample(f); err != nil {
			return f, nil, err
		}
	}
	files, notes, err := unpackSubCharts(o, files)
	if err != nil {
		return f, nil, err
	}
	files = withPlainLines(files)
	tree, err := sourceTree(o, files)
	if err != nil {
		return f, nil, err
	}
	ofValues, err := f.learnValues(tree)
	if err != nil {
		return f, nil, err
	}
	ofRights, err := f.learnRights(ctx, tree, files)
	return f, slices.Concat(notes, ofValues, ofRights), err
}

// learnValues derives the fields of the spec from the values of a chart.
func (f *facts) learnValues(tree fs.FS) ([]string, error) {
	if f.Free() {
		f.SampleSpec = "spec: {}\n"
		return nil, nil
	}
	if f.Generator != GeneratorHelm {
		return nil, nil
	}
	chart, err := readChart(tree)
	if err != nil {
		return nil, err
	}
	types, err := valuetypes.Derive(f.Kind, chart)
	if err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	if err := f.checkFields(types.Keys); err != nil {
		return nil, err
	}
	f.ValuesCode, f.demanded = types.Code, types.Demanded
	sample, err := yaml.Marshal(map[string]any{"spec": types.Sample})
	f.SampleSpec = string(sample)
	return types.Notes, err
}

// checkFields returns an error if a key of the chart's values has the name of a field that an interface adds.
func (f *facts) checkFields(keys []string) error {
	var errs []error
	for _, chosen := range f.Interfaces {
		for _, name := range fieldsOf[chosen] {
			if slices.Contains(keys, name) {
				errs = append(errs,
					fmt.Errorf("the chart contains a value %q, which is also a field of --interfaces %s: leave out this interface",
						name, chosen))
			}
		}
	}
	return errors.Join(errs...)
}

// learnRights derives the RBAC rules of the operator from the rendered sample.
func (f *facts) learnRights(ctx context.Context, tree fs.FS, files []File) ([]string, error) {
	objects, failure := f.renderSample(ctx, tree)
	if failure != nil && !lacksInput(failure) {
		return nil, fmt.Errorf("the %s cannot be rendered: %w", path.Base(sourceFolder(f.Options)), failure)
	}
	var kinds []schema.GroupVersionKind
	var notes []string
	for _, file := range files {
		named, computed := operatorrules.Kinds(file.Path, file.Content)
		kinds, notes = append(kinds, named...), append(notes, computed...)
	}
	if failure != nil {
		notes = append(notes, fmt.Sprintf("the sample cannot be rendered; complete config/samples/%s.yaml: %v", f.Singular(),
			failure))
	}
	rights, err := operatorrules.Format(operatorrules.RulesFor(f.rbacFeatures(), objects, kinds))
	f.Rights = rights
	return notes, err
}
