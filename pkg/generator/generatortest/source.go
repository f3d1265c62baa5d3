package generatortest

import (
	"context"
	"io/fs"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// WithSource returns a generator that adds a source to each request, as a reconciler does for components with a source.
func WithSource(g generator.Generator, source fs.FS, digest string) generator.Generator {
	return generator.GeneratorFunc(func(ctx context.Context, req generator.Request) ([]client.Object, error) {
		req.Source, req.SourceDigest = source, digest
		return g.Generate(ctx, req)
	})
}
