package gotemplate

import (
	"context"
	"io/fs"
	"text/template"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// MissingKeys says what happens when a template reads a key that does not exist.
type MissingKeys string

// What happens with missing keys.
const (
	// MissingKeysFail is an error. It is the default.
	MissingKeysFail MissingKeys = "Fail"
	// MissingKeysEmpty renders nothing, as Helm does.
	MissingKeysEmpty MissingKeys = "Empty"
)

// Options configures a Generator. The zero value is usable.
type Options struct {
	// MissingKeys says what happens when a template reads a key that does not exist; MissingKeysFail by default.
	MissingKeys MissingKeys
	// LeftDelimiter and RightDelimiter enclose the actions of templates; {{ and }} by default.
	LeftDelimiter, RightDelimiter string
	// Functions are added to those that every template has, and win over them. They must be deterministic, quick, and safe for concurrent use.
	Functions template.FuncMap
	// Limits bound each rendering.
	Limits generator.Limits
}

// Generator renders templates. It is safe for concurrent use.
type Generator struct {
	templates *rendering.Parsed[*parsedTemplates]
	limits    generator.Limits
}

var _ generator.Generator = (*Generator)(nil)

// New returns a generator for the templates in source. They are parsed here; an error names file and line. With a nil source the templates
// are those of each request.
func New(source fs.FS, options Options) (*Generator, error) {
	templates, err := rendering.NewParsed(source, func(source fs.FS) (*parsedTemplates, error) { return parseTemplates(source, options) })
	if err != nil {
		return nil, err
	}
	return &Generator{templates: templates, limits: options.Limits.WithDefaults()}, nil
}

// Generate renders the templates for a request. Errors name the template and the line in it, or the line in what it rendered.
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
