package helm

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// notesFile is the text that Helm prints after an installation.
const notesFile = "NOTES.txt"

// render returns the dependents: first the objects in the folders crds, then the objects of the templates in the order
// of their paths.
func (p *parsedChart) render(
	ctx context.Context,
	req generator.Request,
	options Options,
) ([]*unstructured.Unstructured, error) {
	working := copyChart(p.chart)
	values, err := p.renderValues(working, req)
	if err != nil {
		return nil, err
	}
	rendered, err := p.execute(ctx, working, values, req, options.Limits)
	if err != nil {
		return nil, err
	}
	decoder := &manifests.Decoder{
		MaxObjects:    options.Limits.Objects,
		MaxAliasBytes: options.Limits.AliasBytes,
		TrimDocuments: true,
	}
	set := waves{prefix: options.AnnotationPrefix, revision: req.Revision, namespace: req.Namespace}
	var definitions []*unstructured.Unstructured
	var failed error
	if !options.SkipCRDs {
		definitions, failed = decodeDefinitions(working, decoder, req)
	}
	objects, hooks, err := decodeRendered(rendered, decoder, req, options.Raw)
	switch {
	case failed != nil:
		return nil, errors.Join(failed, err)
	case err != nil:
		return nil, &RenderedError{Err: err}
	}
	if options.Raw {
		return append(definitions, objects...), nil
	}
	if options.Tests {
		return tests(hooks), nil
	}
	if options.AnnotationPrefix != "" {
		for _, definition := range definitions {
			set.set(definition, manifests.AnnotationOrder, strconv.Itoa(definitionsOrder))
		}
	}
	return set.arrange(append(definitions, objects...), hooks)
}

// notes returns the rendered notes of the chart. It executes all templates of the chart, because a template can change
// values that the notes read.
func (p *parsedChart) notes(ctx context.Context, req generator.Request, limits generator.Limits) (string, error) {
	working := copyChart(p.chart)
	values, err := p.renderValues(working, req)
	if err != nil {
		return "", err
	}
	rendered, err := p.execute(ctx, working, values, req, limits)
	if err != nil {
		return "", err
	}
	for _, file := range rendered {
		if file.Name == path.Join(working.Name(), "templates", notesFile) {
			return string(file.Data), nil
		}
	}
	return "", nil
}

// decodeRendered decodes the output of templates, and returns ordinary objects and hooks separately, both in the order
// of their files. With Options.Raw, hooks are returned as ordinary objects.
func decodeRendered(
	rendered []rendering.File, decoder *manifests.Decoder, req generator.Request, raw bool,
) (objects []*unstructured.Unstructured, hooks []hook, err error) {
	var errs []error
	slices.SortFunc(rendered, func(a, b rendering.File) int { return strings.Compare(a.Name, b.Name) })
	for _, file := range rendered {
		if strings.HasSuffix(file.Name, notesFile) {
			continue
		}
		decoded, err := decoder.Decode(file.Name+" (rendered)", file.Data)
		errs = append(errs, err)
		req.Located(file.Name, decoded...)
		for _, object := range decoded {
			switch h, isHook, known := hookOf(object, file.Name); {
			case !known:
			case isHook && !raw:
				h.warnOfWeight(req)
				hooks = append(hooks, h)
			default:
				objects = append(objects, object)
			}
		}
	}
	return objects, hooks, errors.Join(errs...)
}

// decodeDefinitions returns the objects in the folders crds. Files in these folders are not templates.
func decodeDefinitions(
	c *chart.Chart,
	decoder *manifests.Decoder,
	req generator.Request,
) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	var errs []error
	for _, definition := range c.CRDObjects() {
		decoded, err := decoder.Decode(definition.Filename, definition.File.Data)
		errs = append(errs, err)
		req.Located(definition.Filename, decoded...)
		objects = append(objects, decoded...)
	}
	return objects, errors.Join(errs...)
}

// renderValues computes the values for the templates, as helm install does. It also removes disabled sub-charts from
// working, which is a copy of the chart.
func (p *parsedChart) renderValues(working *chart.Chart, req generator.Request) (chartutil.Values, error) {
	capabilities := capabilitiesOf(req.Capabilities)
	if required := working.Metadata.KubeVersion; required != "" &&
		!chartutil.IsCompatibleRange(required, capabilities.KubeVersion.Version) {
		return nil, &InputError{
			Err: fmt.Errorf("requires Kubernetes %s, but the target cluster has %s", required, capabilities.KubeVersion.Version),
		}
	}
	parameters := valuesOf(req.Parameters)
	// Merging, as helm install does it: a null in the parameters removes a default of a sub-chart.
	if err := chartutil.ProcessDependenciesWithMerge(working, parameters); err != nil {
		return nil, fmt.Errorf("dependencies: %w", err)
	}
	release := chartutil.ReleaseOptions{
		Name:      req.Name,
		Namespace: req.Namespace,
		Revision:  int(req.Revision),
		IsInstall: req.Revision <= 1,
		IsUpgrade: req.Revision > 1,
	}
	values, err := chartutil.ToRenderValuesWithSchemaValidation(working, parameters, release, capabilities, true)
	if err != nil {
		return nil, fmt.Errorf("values: %w", err)
	}
	composed, err := values.Table("Values")
	if err != nil {
		return nil, fmt.Errorf("values: %w", err)
	}
	if err := errors.Join(p.validate(working, composed, "values")...); err != nil {
		return nil, &InputError{Err: err}
	}
	return values, nil
}
