package gotemplate

import (
	"context"
	"io/fs"

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

// defaultMaxOutputBytes is far beyond any sensible set of manifests, and bearable for the operator.
const defaultMaxOutputBytes = 64 << 20

// Options configures a Generator. The zero value is usable.
type Options struct {
	// MissingKeys says what happens when a template reads a key that does not exist; MissingKeysFail by default.
	MissingKeys MissingKeys
	// MaxOutputBytes bounds what the templates of one rendering write, included templates counted each time; 64 MiB by default.
	MaxOutputBytes int
}

// Generator renders templates. It is safe for concurrent use.
type Generator struct {
	templates *rendering.Parsed[*parsedTemplates]
	options   Options
}

var _ generator.Generator = (*Generator)(nil)

// New returns a generator for the templates in source. They are parsed here; an error names file and line. With a nil source the templates
// are those of each request.
func New(source fs.FS, options Options) (*Generator, error) {
	if options.MaxOutputBytes == 0 {
		options.MaxOutputBytes = defaultMaxOutputBytes
	}
	templates, err := rendering.NewParsed(source, parseTemplates)
	if err != nil {
		return nil, err
	}
	return &Generator{templates: templates, options: options}, nil
}

// Generate renders the templates for a request. Errors name the template and the line in it, or the line in what it rendered.
func (g *Generator) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	return rendering.Detached(ctx, func() ([]client.Object, error) {
		templates, err := g.templates.For(req)
		if err != nil {
			return nil, err
		}
		objects, err := templates.render(ctx, req, g.options)
		if err != nil {
			return nil, err
		}
		return rendering.Objects(objects), nil
	})
}
