package gotemplate

import (
	"context"
	"io/fs"
	"text/template"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/templating"
)

// MissingKeys is the behaviour of templates that read a missing key.
type MissingKeys string

// The values of MissingKeys.
const (
	// MissingKeysFail makes a missing key an error. It is the default.
	MissingKeysFail MissingKeys = "Fail"
	// MissingKeysEmpty renders an empty string for a missing key, like Helm.
	MissingKeysEmpty MissingKeys = "Empty"
)

// Options configures a Generator. The zero value is usable.
type Options struct {
	// MissingKeys selects the result of reading a missing key in a template; MissingKeysFail by default.
	MissingKeys MissingKeys
	// LeftDelimiter and RightDelimiter enclose the actions of templates; {{ and }} by default.
	LeftDelimiter, RightDelimiter string
	// Functions are added to the functions of templates, and take precedence. They must be deterministic, fast, and
	// safe for concurrent use.
	Functions template.FuncMap
	// Limits limits each rendering.
	Limits generator.Limits
}

// Generator renders templates. It is safe for concurrent use.
type Generator struct {
	templates *rendering.Parsed[*parsedTemplates]
	limits    generator.Limits
}

var _ generator.Prover = (*Generator)(nil)

// New returns a generator for the templates in source. New parses all templates; an error names the file and line. If
// source is nil, the generator renders the templates in Request.Source.
func New(source fs.FS, options Options) (*Generator, error) {
	templates, err := rendering.NewParsed(
		source,
		func(source fs.FS) (*parsedTemplates, error) { return parseTemplates(source, options) },
	)
	if err != nil {
		return nil, err
	}
	return &Generator{templates: templates, limits: options.Limits.WithDefaults()}, nil
}

// Generate renders the templates for a request. Errors in templates name the file and line; errors in manifests name
// the template and the line in its output.
func (g *Generator) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	objects, _, err := g.Prove(ctx, req)
	return objects, err
}

// Prove renders like Generate. Nothing is proven of templates that call Options.Functions, functions with random
// results, the clock or look-ups, or write values that may have addresses in memory.
func (g *Generator) Prove(
	ctx context.Context, req generator.Request,
) (objects []client.Object, proven bool, err error) {
	var budget *templating.Budget
	objects, err = rendering.Within(ctx, g.limits.Duration, func(ctx context.Context) ([]client.Object, error) {
		templates, err := g.templates.For(req)
		if err != nil {
			return nil, err
		}
		budget = templating.NewBudget(ctx, g.limits)
		objects, err := templates.render(ctx, budget, req, g.limits)
		if err != nil {
			return nil, err
		}
		return rendering.Objects(objects), nil
	})
	if err != nil {
		return nil, false, err
	}
	return objects, budget.Repeatable(), nil
}
