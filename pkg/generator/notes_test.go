package generator_test

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// noted is a generator whose notes contain the value of the parameter a.
type noted string

func (n noted) Generate(_ context.Context, req generator.Request) ([]client.Object, error) {
	req.Noted(fmt.Sprintf("%s: a is %v\n\n", n, req.Parameters["a"]))
	return nil, nil
}

func TestCompositionsPassNotesOn(t *testing.T) {
	silent := generator.GeneratorFunc(
		func(context.Context, generator.Request) ([]client.Object, error) { return nil, nil },
	)
	doubled := generator.ParameterTransformerFunc(func(context.Context, generator.Request) (map[string]any, error) {
		return map[string]any{"a": "changed"}, nil
	})
	for name, c := range map[string]struct {
		generator generator.Generator
		want      string
	}{
		"a generator without notes":            {silent, ""},
		"a chain":                              {generator.Chain(noted("x")), "x: a is 1\n\n"},
		"a chain of a generator without notes": {generator.Chain(silent), ""},
		"changed parameters":                   {generator.WithParameters(noted("x"), doubled), "x: a is changed\n\n"},
		"parts of which one has no notes": {
			generator.Merge(generator.Part{Generator: noted("x")}, generator.Part{Generator: silent},
				generator.Part{Generator: noted("y")}),
			"x: a is 1\n\ny: a is 1\n",
		},
		"a switch": {generator.Switch(map[string]generator.Generator{"1": noted("x")}, "a"), "x: a is 1\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := generator.NotesOf(
				t.Context(),
				c.generator,
				generator.Request{Parameters: map[string]any{"a": int64(1)}},
			)
			if err != nil || got != c.want {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
