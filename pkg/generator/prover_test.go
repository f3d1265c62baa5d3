package generator_test

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/transform"
)

// certain is a generator that proves all its renderings.
type certain struct{}

func (certain) Generate(context.Context, generator.Request) ([]client.Object, error) { return nil, nil }

func (c certain) Prove(ctx context.Context, req generator.Request) ([]client.Object, bool, error) {
	objects, err := c.Generate(ctx, req)
	return objects, true, err
}

// embedding has the method Prove of the generator that it embeds, which does not call the Generate of embedding.
type embedding struct{ certain }

func (embedding) Generate(context.Context, generator.Request) ([]client.Object, error) {
	return []client.Object{nil}, nil
}

type embeddingPointer struct{ *certain }

func (embeddingPointer) Generate(context.Context, generator.Request) ([]client.Object, error) {
	return []client.Object{nil}, nil
}

type embeddingTwice struct{ embedding }

func TestWhatAGeneratorProves(t *testing.T) {
	silent := generator.GeneratorFunc(
		func(context.Context, generator.Request) ([]client.Object, error) { return nil, nil },
	)
	for name, c := range map[string]struct {
		generator generator.Generator
		want      bool
		objects   int
	}{
		"a Prover":                            {certain{}, true, 0},
		"a pointer to a Prover":               {&certain{}, true, 0},
		"a function":                          {silent, false, 0},
		"a type that embeds a Prover":         {embedding{}, false, 1},
		"a pointer to such a type":            {&embedding{}, false, 1},
		"a type that embeds a pointer to one": {embeddingPointer{&certain{}}, false, 1},
		"a type that embeds such a type":      {embeddingTwice{}, false, 1},
		"a chain without transformers":        {generator.Chain(certain{}), true, 0},
		"a chain of a function":               {generator.Chain(silent), false, 0},
		"a chain with a transformer": {
			generator.Chain(certain{}, transform.Labels(map[string]string{"a": "b"})),
			false, 0,
		},
		"a switch to a Prover": {
			generator.Switch(map[string]generator.Generator{"": certain{}}, "a"),
			true, 0,
		},
		"a switch to a function": {generator.Switch(map[string]generator.Generator{"": silent}, "a"), false, 0},
		"parts":                  {generator.Merge(generator.Part{Generator: certain{}}), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			objects, proven, err := generator.Prove(t.Context(), c.generator, generator.Request{})
			if err != nil || proven != c.want || len(objects) != c.objects {
				t.Errorf("got %d objects, proven %t, %v; want %d objects, proven %t", len(objects), proven, err, c.objects, c.want)
			}
		})
	}
}
