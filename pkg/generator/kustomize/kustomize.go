package kustomize

import (
	"context"
	"io/fs"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// Options configures a Generator. The zero value is usable.
type Options struct{}

// Generator renders a kustomization. It is safe for concurrent use; kustomize itself is not, so builds run one after the other.
type Generator struct {
	sources *rendering.Parsed[*checkedSource]
}

var _ generator.Generator = (*Generator)(nil)

// New returns a generator for the kustomization, or the plain manifests, at the top of source. The source is read and checked here; an error says
// which file refers to something that is refused. With a nil source the kustomization is that of each request.
func New(source fs.FS, _ Options) (*Generator, error) {
	sources, err := rendering.NewParsed(source, checkSource)
	if err != nil {
		return nil, err
	}
	return &Generator{sources: sources}, nil
}

// Generate builds the kustomization. Errors are those of kustomize, which name the file, and those of the manifests.
func (g *Generator) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	return rendering.Detached(ctx, func() ([]client.Object, error) {
		source, err := g.sources.For(req)
		if err != nil {
			return nil, err
		}
		objects, err := source.build(ctx)
		if err != nil {
			return nil, err
		}
		return rendering.Objects(objects), nil
	})
}
