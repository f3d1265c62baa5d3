package scaffold

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

// renderSample renders the source with the values of the sample component. If this fails because a value is missing,
// the sample gets examples of the values that templates demand.
func (f *facts) renderSample(ctx context.Context, tree fs.FS) ([]*unstructured.Unstructured, error) {
	var sample struct {
		Spec map[string]any `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(f.SampleSpec), &sample); err != nil {
		return nil, err
	}
	objects, failure := renderSource(ctx, f.Options, tree, sample.Spec)
	if failure == nil || len(f.demanded) == 0 || !lacksInput(failure) {
		return objects, failure
	}
	sample.Spec = withDemanded(sample.Spec, f.demanded)
	objects, err := renderSource(ctx, f.Options, tree, sample.Spec)
	if err != nil {
		return nil, failure
	}
	text, err := yaml.Marshal(sample)
	f.SampleSpec = string(text)
	return objects, err
}

// withDemanded returns values with examples of demanded values. Values that are set stay.
func withDemanded(values, demanded map[string]any) map[string]any {
	completed := maps.Clone(demanded)
	for key, value := range values {
		inner, isMap := value.(map[string]any)
		if below, both := completed[key].(map[string]any); isMap && both {
			value = withDemanded(inner, below)
		}
		completed[key] = value
	}
	return completed
}

// lacksInput reports whether an error of a rendering may disappear with other values or in a cluster. This is the case
// if the chart rejected its values, if a template failed during its execution, or if its output is not a manifest, for
// instance because a name is a value. A template that cannot be parsed fails with any values.
func lacksInput(err error) bool {
	if _, refused := errors.AsType[*helm.InputError](err); refused {
		return true
	}
	if _, gaveUp := errors.AsType[template.ExecError](err); gaveUp {
		return true
	}
	_, wrote := errors.AsType[*helm.RenderedError](err)
	return wrote
}
