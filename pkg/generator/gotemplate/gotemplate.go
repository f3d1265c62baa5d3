package gotemplate

import (
	"context"
	"io/fs"
	"text/template"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// MissingKeys selects the result of reading a missing key in a template.
type MissingKeys string

// The values of MissingKeys.
const (
	// MissingKeysFail returns an error. It is the default.
	MissingKeysFail MissingKeys = "Fail"
	// MissingKeysEmpty renders nothing, as Helm does.
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

var _ generator.Generator = (*Generator)(nil)

// New returns a generator for the templates in source. It parses them; an error names file and line. With a nil source
// each request has its own templates.
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

// Generate renders the templates for a request. Errors name the template and the line in it, or the line in its output.
func (g *Generator) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	return rendering.Within(ctx, g.limits.Duration, func(ctx context.Context) ([]client.Object, error) {
		templates, err := g.templates.For(req)
		if err != nil {
			return nil, err
		}
		objects, err := templates.render(ctx, req, g.limits)
		if err != nil {
			return nil, err
		}
		return rendering.Objects(objects), nil
	})
}
