package scaffold

import (
	"context"
	"errors"
	"io/fs"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

// renderSample renders the source with the values of the sample component.
func (f *facts) renderSample(ctx context.Context, tree fs.FS) ([]*unstructured.Unstructured, error) {
	var sample struct {
		Spec map[string]any `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(f.SampleSpec), &sample); err != nil {
		return nil, err
	}
	return renderSource(ctx, f.Options, tree, sample.Spec)
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
