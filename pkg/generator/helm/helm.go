package helm

import (
	"context"
	"fmt"
	"io/fs"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// Options configures a Generator. The zero value is usable.
type Options struct {
	// AnnotationPrefix is the reconciler's name, the prefix of settings. It is required for charts with hooks or with
	// kept objects; see the package documentation.
	AnnotationPrefix string
	// Raw returns the same objects as helm template: all hooks are returned as they are, and no settings are added.
	Raw bool
	// Tests returns the hooks for test instead of all other objects: unchanged, in the order in which Helm runs them.
	// Raw must not be set.
	Tests bool
	// SkipCRDs omits the objects in the folders crds of the chart and its sub-charts.
	SkipCRDs bool
	// Limits limits each rendering.
	Limits generator.Limits
}

// Generator renders a chart. It is safe for concurrent use.
type Generator struct {
	charts  *rendering.Parsed[*parsedChart]
	options Options
}

var (
	_ generator.Generator = (*Generator)(nil)
	_ generator.Noter     = (*Generator)(nil)
)

// New returns a generator for the chart in source, whose root contains the Chart.yaml. New parses and validates the
// chart, and returns an error for an invalid chart. If source is nil, the generator renders the chart in
// Request.Source.
func New(source fs.FS, options Options) (*Generator, error) {
	charts, err := rendering.NewParsed(source, parseChart)
	if err != nil {
		return nil, err
	}
	options.Limits = options.Limits.WithDefaults()
	return &Generator{charts: charts, options: options}, nil
}

// Generate renders the chart for a request. Errors name the file and line of the template, or the path of the value.
func (g *Generator) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	return rendering.Within(ctx, g.options.Limits.Duration, func(ctx context.Context) ([]client.Object, error) {
		parsed, err := g.charts.For(req)
		if err != nil {
			return nil, err
		}
		req.Versioned(parsed.chart.Name() + "-" + parsed.chart.Metadata.Version)
		objects, err := parsed.render(ctx, req, g.options)
		if err != nil {
			return nil, fmt.Errorf("chart %s: %w", parsed.chart.Name(), err)
		}
		return rendering.Objects(objects), nil
	})
}

// Notes returns the output of the chart's templates/NOTES.txt. The notes of sub-charts are omitted, as in Helm.
func (g *Generator) Notes(ctx context.Context, req generator.Request) (string, error) {
	said := make(chan string, 1)
	_, err := rendering.Within(ctx, g.options.Limits.Duration, func(ctx context.Context) ([]client.Object, error) {
		parsed, err := g.charts.For(req)
		if err != nil {
			return nil, err
		}
		notes, err := parsed.notes(ctx, req, g.options.Limits)
		if err != nil {
			return nil, fmt.Errorf("chart %s: %w", parsed.chart.Name(), err)
		}
		said <- notes
		return nil, nil
	})
	if err != nil {
		return "", err
	}
	return <-said, nil
}
