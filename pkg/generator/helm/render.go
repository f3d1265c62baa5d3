package helm

import (
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
	"github.com/fairlead-io/fairlead/pkg/generator/internal/templating"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// notesFile is the text that Helm prints after an installation.
const notesFile = "NOTES.txt"

// render returns the dependents: first the objects in the folders crds, then the objects of the templates in the order
// of their paths. With Options.Raw, the objects of templates are in the order of helm template.
func (p *parsedChart) render(
	budget *templating.Budget,
	req generator.Request,
	options Options,
) ([]*unstructured.Unstructured, error) {
	for _, duplicate := range p.duplicates {
		rendering.Warn(req)(duplicate)
	}
	working := copyChart(p.chart)
	values, err := p.renderValues(working, req, options)
	if err != nil {
		return nil, err
	}
	rendered, err := p.execute(budget, working, values, req)
	if err != nil {
		return nil, err
	}
	req.Noted(notesIn(rendered, working))
	decoder := &manifests.Decoder{
		MaxObjects:    options.Limits.Objects,
		MaxAliasBytes: options.Limits.AliasBytes,
		MaxNodes:      options.Limits.Nodes,
		TrimDocuments: true,
		Warn:          rendering.Warn(req),
	}
	set := waves{
		prefix: options.AnnotationPrefix, revision: req.Revision, namespace: req.Namespace, hookTimeout: options.HookTimeout,
	}
	var definitions []*unstructured.Unstructured
	var failed error
	if !options.SkipCRDs {
		definitions, failed = decodeDefinitions(working, decoder, req, options.Raw)
	}
	var groups sequencing
	if options.Sequencing && !options.Raw {
		groups.prefix = options.AnnotationPrefix
	}
	objects, hooks, err := decodeRendered(rendered, decoder, req, options.Raw, groups)
	groups.share(objects)
	switch {
	case failed != nil:
		return nil, errors.Join(failed, err)
	case err != nil:
		return nil, &RenderedError{Err: err, Output: outputOf(rendered)}
	}
	if options.Raw {
		return slices.Concat(definitions, byKind(objects), byKind(objectsOf(hooks))), nil
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

// byKind sorts objects by Helm's order of installation, and returns them. Objects of a kind keep their order.
func byKind(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return compareKinds(a.GetKind(), b.GetKind())
	})
	return objects
}

// notesIn returns the output of the chart's templates/NOTES.txt. The notes of sub-charts are omitted, as in Helm.
func notesIn(rendered []rendering.File, working *chart.Chart) string {
	for _, file := range rendered {
		if file.Name == path.Join(working.Name(), "templates", notesFile) {
			return string(file.Data)
		}
	}
	return ""
}

// decodeRendered decodes the output of templates, and returns ordinary objects and hooks separately, both in the order
// of their files. With Options.Raw, no warnings about hooks are reported.
func decodeRendered(
	rendered []rendering.File, decoder *manifests.Decoder, req generator.Request, raw bool, groups sequencing,
) (objects []*unstructured.Unstructured, hooks []hook, err error) {
	var errs []error
	slices.SortFunc(rendered, func(a, b rendering.File) int { return strings.Compare(a.Name, b.Name) })
	for _, file := range rendered {
		if strings.HasSuffix(file.Name, notesFile) {
			continue
		}
		decoded, err := decoder.Decode(file.Name+" (rendered)", file.Data)
		errs = append(errs, err, groups.enter(file.Name, decoded))
		req.Located(file.Name, decoded...)
		for _, object := range decoded {
			switch h, isHook, known := hookOf(object, file.Name); {
			case !known:
			case isHook:
				if !raw {
					h.warnOfWeight(req)
				}
				hooks = append(hooks, h)
			default:
				objects = append(objects, object)
			}
		}
	}
	return objects, hooks, errors.Join(errs...)
}

// outputOf joins the output of templates without the notes.
func outputOf(rendered []rendering.File) []byte {
	return rendering.Stream(slices.DeleteFunc(slices.Clone(rendered), func(file rendering.File) bool {
		return strings.HasSuffix(file.Name, notesFile)
	}))
}

// decodeDefinitions returns the objects in the folders crds. Files in these folders are not templates. If a sub-chart
// repeats an object of the chart or of another sub-chart, only the first is returned, as Helm installs only the
// first. With Options.Raw, all are returned, as by helm template.
func decodeDefinitions(
	c *chart.Chart,
	decoder *manifests.Decoder,
	req generator.Request,
	raw bool,
) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	var errs []error
	sources := map[string]string{}
	for _, definition := range c.CRDObjects() {
		decoded, err := decoder.Decode(definition.Filename, definition.File.Data)
		errs = append(errs, err)
		first := slices.DeleteFunc(decoded, func(object *unstructured.Unstructured) bool {
			id := object.GroupVersionKind().GroupKind().String() + " " + object.GetName()
			source, repeated := sources[id]
			if !repeated {
				sources[id] = definition.Filename
			}
			superfluous := repeated && source != definition.Filename && !raw
			if superfluous {
				warnOfRepetition(req, object, source, definition.Filename)
			}
			return superfluous
		})
		req.Located(definition.Filename, first...)
		objects = append(objects, first...)
	}
	return objects, errors.Join(errs...)
}

// warnOfRepetition reports an object that two files in folders crds contain.
func warnOfRepetition(req generator.Request, object *unstructured.Unstructured, used, unused string) {
	req.Tell(generator.Result{
		Severity: generator.SeverityWarning,
		Message:  fmt.Sprintf("%s and %s contain the object; the first one is used, as in Helm", used, unused),
		Object:   object.GetKind() + " " + object.GetName(),
	})
}

// renderValues computes the values for the templates, as helm install does. It also removes disabled sub-charts from
// working, which is a copy of the chart.
func (p *parsedChart) renderValues(
	working *chart.Chart, req generator.Request, options Options,
) (chartutil.Values, error) {
	if p.invalidSchema != nil && !options.SkipSchema {
		return nil, p.invalidSchema
	}
	capabilities := capabilitiesOf(req.Capabilities)
	if required := working.Metadata.KubeVersion; required != "" &&
		!chartutil.IsCompatibleRange(required, capabilities.KubeVersion.Version) {
		return nil, &InputError{
			Err: fmt.Errorf("requires Kubernetes %s, but the target cluster has %s", required, capabilities.KubeVersion.Version),
		}
	}
	parameters := valuesOf(req.Parameters)
	if err := checkGlobals(working, parameters); err != nil {
		return nil, err
	}
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
	values["Capabilities"] = forTemplates(capabilities, req.Capabilities)
	composed, err := values.Table("Values")
	if err != nil {
		return nil, fmt.Errorf("values: %w", err)
	}
	if options.SkipSchema {
		return values, nil
	}
	if err := errors.Join(p.validate(working, composed, "values")...); err != nil {
		return nil, &InputError{Err: err}
	}
	return values, nil
}
