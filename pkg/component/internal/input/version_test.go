package input

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

type versionedGenerator string

func (v versionedGenerator) Version() string { return string(v) }

func (versionedGenerator) Generate(context.Context, generator.Request) ([]client.Object, error) {
	return nil, nil
}

func TestAGeneratorWithoutAVersionHasTheVersionOfTheProgram(t *testing.T) {
	program := programIdentity()
	if program == "" {
		t.Fatal("the test program has no version that identifies it")
	}
	none := generator.GeneratorFunc(versionedGenerator("").Generate)
	for want, g := range map[string]generator.Generator{"1": versionedGenerator("1"), program: versionedGenerator("")} {
		if got := GeneratorVersion(g); got != want {
			t.Errorf("the version of the generator %T %q: want %s, got %s", g, g, want, got)
		}
	}
	if got := GeneratorVersion(none); got != program {
		t.Errorf("a generator without a version: want the version %s of the program, got %s", program, got)
	}
}
