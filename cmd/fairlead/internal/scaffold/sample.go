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

// renderSample renders the source with the values of the sample.
func (f *facts) renderSample(ctx context.Context, tree fs.FS) ([]*unstructured.Unstructured, error) {
	var sample struct {
		Spec map[string]any `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(f.SampleSpec), &sample); err != nil {
		return nil, err
	}
	return renderSource(ctx, f.Options, tree, sample.Spec)
}

// lacksInput reports whether other values, or a cluster, may solve an error: the chart rejected its values, a template
// failed while it ran, or its output is not a manifest, for instance because a name is a value. A template that does
// not parse is always wrong.
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
