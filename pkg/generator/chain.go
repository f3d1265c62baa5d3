package generator

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Chain returns a generator that renders with g and then applies the transformers to the objects, in the given order.
//
// The version of the chain combines the versions of g and all transformers. If one of these has no version, the chain
// has no version. Then every new build of the program renders again, because its code may have changed.
func Chain(g Generator, transformers ...Transformer) Generator {
	return &chain{generator: g, transformers: transformers}
}

type chain struct {
	generator    Generator
	transformers []Transformer
}

var _ Versioner = (*chain)(nil)

// Generate renders and transforms the objects.
func (c *chain) Generate(ctx context.Context, req Request) ([]client.Object, error) {
	rendered, err := c.generator.Generate(ctx, req)
	if err != nil || len(c.transformers) == 0 {
		return rendered, err
	}
	objects, err := detach(rendered)
	if err != nil {
		return nil, err
	}
	for _, transformer := range c.transformers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if objects, err = transformer.Transform(ctx, req, objects); err != nil {
			return nil, err
		}
	}
	return asObjects(objects), nil
}

// Version combines the versions of the generator and the transformers.
func (c *chain) Version() string {
	parts := []any{c.generator}
	for _, transformer := range c.transformers {
		parts = append(parts, transformer)
	}
	return versionOfAll("chain", parts...)
}

// WithParameters returns a generator that applies the transformers to the parameters of a request, in the given order,
// and renders with the result. Its version combines the versions of g and all transformers, as with Chain.
func WithParameters(g Generator, transformers ...ParameterTransformer) Generator {
	return &parameterised{generator: g, transformers: transformers}
}

type parameterised struct {
	generator    Generator
	transformers []ParameterTransformer
}

var _ Versioner = (*parameterised)(nil)

// Generate renders with a changed copy of the parameters.
func (p *parameterised) Generate(ctx context.Context, req Request) ([]client.Object, error) {
	req, err := p.changed(ctx, req)
	if err != nil {
		return nil, err
	}
	return p.generator.Generate(ctx, req)
}

// changed returns the request with the changed parameters.
func (p *parameterised) changed(ctx context.Context, req Request) (Request, error) {
	for _, transformer := range p.transformers {
		if err := ctx.Err(); err != nil {
			return Request{}, err
		}
		// The map is copied for each transformer, because a transformer may keep the map that it returned.
		changed := req
		changed.Parameters, _ = copyParameters(req.Parameters).(map[string]any)
		parameters, err := transformer.TransformParameters(ctx, changed)
		if err != nil {
			return Request{}, fmt.Errorf("parameters: %w", err)
		}
		req.Parameters = parameters
	}
	return req, nil
}

// Version combines the versions of the generator and the transformers.
func (p *parameterised) Version() string {
	parts := []any{p.generator}
	for _, transformer := range p.transformers {
		parts = append(parts, transformer)
	}
	return versionOfAll("parameters", parts...)
}
