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

// renderSample renders what the sample will be rendered to. Where no value of a chart must be set these are the chart's own values.
func (f *facts) renderSample(ctx context.Context, tree fs.FS) ([]*unstructured.Unstructured, error) {
	var sample struct {
		Spec map[string]any `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(f.SampleSpec), &sample); err != nil {
		return nil, err
	}
	return renderSource(ctx, f.Options, tree, sample.Spec)
}

// lacksInput says whether other values, or a cluster to look into, may mend what failed: the chart refused what it got, a template that ran gave up,
// or wrote what is no manifest, such as one whose name is a value. A template that does not parse is wrong whatever it gets.
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
