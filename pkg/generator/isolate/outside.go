package isolate

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Outside returns a generator that is always called in the parent, because it needs the network or files. In a child it
// asks the parent to call the generator of this name in Options.Outside; in every other process it calls g.
//
// The parent calls the generator with the request of the rendering; only the parameters come from the child. g must be
// safe for requests that a hostile source chooses.
func Outside(name string, g generator.Generator) generator.Generator {
	return outside{name: name, inner: g}
}

type outside struct {
	name  string
	inner generator.Generator
}

var _ generator.Versioner = outside{}

// Generate calls the generator, in the parent.
func (o outside) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	s, ok := ctx.Value(sessionKey{}).(*session)
	if !ok {
		return o.inner.Generate(ctx, req)
	}
	a, err := s.ask(ctx, question{Topic: topicCall, Outside: o.name, Parameters: req.Parameters})
	if err != nil {
		return nil, err
	}
	return objectsOf(a.Objects), nil
}

// Version returns the version of the generator.
func (o outside) Version() string { return generator.VersionOf(o.inner) }

// unknownOutside is the error for a name that Options.Outside does not have.
func unknownOutside(name string) error {
	return fmt.Errorf("isolate: Options.Outside has no generator %q", name)
}
