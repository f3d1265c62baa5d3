package generator

import (
	"context"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Prover is an optional interface of a Generator that knows of a rendering whether it is deterministic. Prove renders
// as Generate does. proven is set only if every rendering of the request returns equal objects, also with another
// Request.Now and as a trial: the rendering used no random value, no clock and no look-up. A reconciler makes no second
// rendering to find that out.
//
// Generators of this package that wrap another generator prove what it proves, unless they call code of an author.
type Prover interface {
	Generator
	Prove(ctx context.Context, req Request) (objects []client.Object, proven bool, err error)
}

// Prove renders with a generator. proven is as for Prover; a generator that is no Prover proves nothing. A type that
// embeds a Prover counts as none, because Prove may be the method of the embedded generator, which does not know the
// Generate of the type.
func Prove(ctx context.Context, g Generator, req Request) (objects []client.Object, proven bool, err error) {
	if p, ok := g.(Prover); ok && !embedsProver(reflect.TypeOf(g)) {
		return p.Prove(ctx, req)
	}
	objects, err = g.Generate(ctx, req)
	return objects, false, err
}

// embedsProver reports whether a type is a struct, or points to one, that embeds a Prover.
func embedsProver(of reflect.Type) bool {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return false
	}
	prover := reflect.TypeFor[Prover]()
	for field := range of.Fields() {
		if field.Anonymous && (field.Type.Implements(prover) || reflect.PointerTo(field.Type).Implements(prover)) {
			return true
		}
	}
	return false
}

// Prove renders with the generator. A chain with transformers proves nothing.
func (c *chain) Prove(ctx context.Context, req Request) ([]client.Object, bool, error) {
	if len(c.transformers) == 0 {
		return Prove(ctx, c.generator, req)
	}
	objects, err := c.Generate(ctx, req)
	return objects, false, err
}

// Prove renders with the selected generator.
func (s *switched) Prove(ctx context.Context, req Request) ([]client.Object, bool, error) {
	g, err := s.chosen(req)
	if err != nil {
		return nil, false, err
	}
	return Prove(ctx, g, req)
}
