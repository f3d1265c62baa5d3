package kustomize

import (
	"context"
	"io/fs"
	"text/template"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// Options configures a Generator. The zero value is usable.
type Options struct {
	// Functions are added to the functions of templates, and take precedence. They must be deterministic, fast, and
	// safe for concurrent use.
	Functions template.FuncMap
	// LegacyOrder returns the objects in the order of kustomize build. By default they are in the order of the files,
	// unless the kustomization has sortOptions.
	LegacyOrder bool
	// Limits limits each rendering. A build cannot be interrupted after kustomize has read its files.
	Limits generator.Limits
}

// Generator renders a kustomization. It is safe for concurrent use; kustomize itself is not, so builds run one after
// the other.
type Generator struct {
	sources     *rendering.Parsed[*parsedSource]
	legacyOrder bool
	limits      generator.Limits
}

var _ generator.Generator = (*Generator)(nil)

// New returns a generator for the kustomization, or the plain manifests, in the root of source. It validates the source
// as far as this is possible without rendering templates. An error names the file that contains an invalid reference.
// If source is nil, the generator renders Request.Source.
func New(source fs.FS, options Options) (*Generator, error) {
	options.Limits = options.Limits.WithDefaults()
	sources, err := rendering.NewParsed(
		source,
		func(source fs.FS) (*parsedSource, error) { return parseSource(source, options) },
	)
	if err != nil {
		return nil, err
	}
	return &Generator{sources: sources, legacyOrder: options.LegacyOrder, limits: options.Limits}, nil
}

// Generate builds the kustomization for a request. Errors in templates, in kustomizations and in manifests name the
// file.
func (g *Generator) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	return rendering.Within(ctx, g.limits.Duration, func(ctx context.Context) ([]client.Object, error) {
		parsed, err := g.sources.For(req)
		if err != nil {
			return nil, err
		}
		source, found, err := parsed.forRequest(ctx, req, g.limits)
		if err != nil {
			return nil, err
		}
		found.sorts = found.sorts || g.legacyOrder
		objects, err := build(ctx, source, found, req)
		if err != nil {
			return nil, err
		}
		return rendering.Objects(objects), nil
	})
}
