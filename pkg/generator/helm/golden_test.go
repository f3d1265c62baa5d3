package helm_test

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/generatortest"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

var options = helm.Options{AnnotationPrefix: "demo.example.io"}

func TestGolden(t *testing.T) {
	generatortest.Golden(t, "testdata/golden", func(source fs.FS) (generator.Generator, error) {
		return helm.New(source, options)
	})
}

// TestGoldenFromTheRequest checks that a chart in the request renders to the same objects as a chart that is passed to
// New.
func TestGoldenFromTheRequest(t *testing.T) {
	shared, err := helm.New(nil, options)
	if err != nil {
		t.Fatal(err)
	}
	generatortest.Golden(t, "testdata/golden", func(source fs.FS) (generator.Generator, error) {
		return generatortest.WithSource(shared, source, fmt.Sprint(source)), nil
	})
}
