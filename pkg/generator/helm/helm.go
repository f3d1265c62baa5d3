package helm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/templating"
)

// Options configures a Generator. The zero value is usable.
type Options struct {
	// AnnotationPrefix is the reconciler's name, the prefix of settings. It is required for charts with hooks or with
	// kept objects; see the package documentation.
	AnnotationPrefix string
	// Raw returns the same objects as helm template, in its order: all hooks are returned as they are, and no settings are
	// added.
	Raw bool
	// Tests returns the hooks for test instead of all other objects: unchanged, in the order in which Helm runs them.
	// Raw must not be set.
	Tests bool
	// SkipSchema renders without the validation of values by each values.schema.json, which may then also be invalid.
	SkipSchema bool
	// SkipCRDs omits the objects in the folders crds of the chart and its sub-charts.
	SkipCRDs bool
	// HookTimeout is the setting timeout of all hooks whose manifests do not set one, like the flag --timeout of Helm: a
	// hook that is not ready within this time has failed. Zero, the default, means that hooks have no timeout.
	HookTimeout time.Duration
	// Sequencing reads the annotations helm.sh/resource-group and helm.sh/depends-on/resource-groups (HIP-0025) as
	// dependencies between objects. By default they have no effect, as in Helm without its option for them. Sequencing
	// requires AnnotationPrefix.
	Sequencing bool
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
	_ generator.Prover    = (*Generator)(nil)
)

// New returns a generator for the chart in source, whose root contains the Chart.yaml. New parses and validates the
// chart, and returns an error for an invalid chart or a negative timeout. If source is nil, the generator renders the
// chart in Request.Source.
func New(source fs.FS, options Options) (*Generator, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	charts, err := rendering.NewParsed(source, parseChart)
	if err != nil {
		return nil, err
	}
	if source != nil && !options.SkipSchema {
		parsed, err := charts.For(generator.Request{})
		if err != nil {
			return nil, err
		}
		if parsed.invalidSchema != nil {
			return nil, parsed.invalidSchema
		}
	}
	options.Limits = options.Limits.WithDefaults()
	return &Generator{charts: charts, options: options}, nil
}

// With returns a generator for the same charts with changed options. Both generators share the parsed charts, so a call
// costs little. With returns an error for a negative timeout.
func (g *Generator) With(change func(*Options)) (*Generator, error) {
	options := g.options
	change(&options)
	if err := options.check(); err != nil {
		return nil, err
	}
	options.Limits = options.Limits.WithDefaults()
	return &Generator{charts: g.charts, options: options}, nil
}

func (o Options) check() error {
	if o.HookTimeout < 0 {
		return fmt.Errorf("the timeout of hooks is %s: want 0, which means none, or a longer time", o.HookTimeout)
	}
	if o.Sequencing && o.AnnotationPrefix == "" {
		return errors.New("resource groups are converted to settings, whose prefix is not set: set Options.AnnotationPrefix")
	}
	return nil
}

// Generate renders the chart for a request. Errors name the file and line of the template, or the path of the value.
func (g *Generator) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	objects, _, err := g.Prove(ctx, req)
	return objects, err
}

// Prove renders like Generate. Nothing is proven of a chart whose templates call functions with random results, the
// clock or look-ups, or write values that may have addresses in memory.
func (g *Generator) Prove(
	ctx context.Context, req generator.Request,
) (objects []client.Object, proven bool, err error) {
	var budget *templating.Budget
	var notes string
	inner := req
	inner.Notes = func(text string) { notes = text }
	objects, err = rendering.Within(ctx, g.options.Limits.Duration, func(ctx context.Context) ([]client.Object, error) {
		parsed, err := g.charts.For(req)
		if err != nil {
			return nil, err
		}
		req.Versioned(parsed.chart.Name() + "-" + parsed.chart.Metadata.Version)
		budget = templating.NewBudget(ctx, g.options.Limits)
		objects, err := parsed.render(budget, inner, g.options)
		if err != nil {
			return nil, fmt.Errorf("chart %s: %w", parsed.chart.Name(), err)
		}
		return rendering.Objects(objects), nil
	})
	if err != nil {
		return nil, false, err
	}
	if notes != "" {
		req.Noted(notes)
	}
	return objects, budget.Repeatable(), nil
}
