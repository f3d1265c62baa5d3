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

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold/rbac"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold/valuetypes"
)

// exampleSpec is the spec of the sample for the examples. It sets all fields.
const exampleSpec = `spec:
  replicas: 1
  image: docker.io/nginxinc/nginx-unprivileged:1.29-alpine
  message: Hello
`

// exampleKinds are the kinds that the example in Go renders.
var exampleKinds = []schema.GroupVersionKind{
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Service"},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
}

// facts are the data of the templates.
type facts struct {
	Options
	Fairlead Fairlead
	// ValuesCode has the Go types of a chart's values.
	ValuesCode string
	// SampleSpec is the spec of the sample, as YAML.
	SampleSpec string
	// Rights has the rules for dependents, as YAML.
	Rights string
}

// Tools returns the versions of the tools that build the project.
func (facts) Tools() any { return tools }

// Intervals returns the duration fields of the spec with their descriptions.
func (facts) Intervals() map[string]string {
	return map[string]string{
		"Interval":      "Interval of the resync; 10h by default, zero turns it off.",
		"RetryInterval": "RetryInterval is how long to wait after an error that does not go away by itself; 1m by default.",
		"Timeout": "Timeout is how long the component may be on its way before it is Stalled with reason Timeout; " +
			"10m by default.",
	}
}

// GeneratorStory returns a sentence on what the operator renders.
func (f facts) GeneratorStory() string {
	switch f.Generator {
	case GeneratorHelm:
		return "It renders the Helm chart in `" + sourceFolder(f.Options) +
			"`: the spec of a component is the chart's values."
	case GeneratorKustomize:
		return "It builds the kustomization in `" + sourceFolder(f.Options) + "`."
	case GeneratorGoTemplate:
		return "It renders the Go templates in `" + sourceFolder(f.Options) + "` with the spec of a component."
	case GeneratorGo:
		return "What a component consists of is Go code, in `internal/generator`."
	}
	return ""
}

// learn derives the facts from the source that the generator renders. It also returns notes for a person.
func learn(ctx context.Context, o Options, fairlead Fairlead, files []File) (facts, []string, error) {
	f := facts{Options: o, Fairlead: fairlead, SampleSpec: exampleSpec}
	if o.Generator == GeneratorGo {
		rights, err := rbac.Format(rbac.RulesFor(o.rbacFeatures(), nil, exampleKinds))
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

// learnValues derives the fields of the spec.
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
	f.ValuesCode = types.Code
	sample, err := yaml.Marshal(map[string]any{"spec": types.Sample})
	f.SampleSpec = string(sample)
	return types.Notes, err
}

// checkFields returns an error if a chart has values with the names of fields that an interface adds.
func (f *facts) checkFields(keys []string) error {
	var errs []error
	for _, chosen := range f.Interfaces {
		for _, name := range fieldsOf[chosen] {
			if slices.Contains(keys, name) {
				errs = append(errs,
					fmt.Errorf("the chart has a value %q, which is the name of a field of --interfaces %s: leave that interface out",
						name, chosen))
			}
		}
	}
	return errors.Join(errs...)
}

// learnRights derives the rules of the operator.
func (f *facts) learnRights(ctx context.Context, tree fs.FS, files []File) ([]string, error) {
	objects, failure := f.renderSample(ctx, tree)
	if failure != nil && !lacksInput(failure) {
		return nil, fmt.Errorf("the %s does not render: %w", path.Base(sourceFolder(f.Options)), failure)
	}
	var kinds []schema.GroupVersionKind
	var notes []string
	for _, file := range files {
		named, computed := rbac.Kinds(file.Path, file.Content)
		kinds, notes = append(kinds, named...), append(notes, computed...)
	}
	if failure != nil {
		notes = append(notes, fmt.Sprintf("the sample does not render yet; complete config/samples/%s.yaml: %v", f.Singular(),
			failure))
	}
	rights, err := rbac.Format(rbac.RulesFor(f.rbacFeatures(), objects, kinds))
	f.Rights = rights
	return notes, err
}
